/** What `postgres` takes: checked once, with every default in one place. */
import type { ConnectionOptions } from 'node:tls';
import { flag, invalid, optional, whole } from '../../errors/argument-checks.ts';
import { checkOptionNames } from '../../errors/option-names.ts';
import { SCHEMA_DEFAULT, SCHEMA_PATTERN } from './tables.ts';

/** Which database, and how it is reached. */
export interface PostgresOptions {
  /** `postgresql://user:password@host:port/database`. Single options below win over its parts. */
  readonly connectionString?: string;
  /** Name, address, or the directory of a Unix socket. Default `PGHOST`, else `localhost`. */
  readonly host?: string;
  /** Default `PGPORT`, else 5432. */
  readonly port?: number;
  /** Default `PGDATABASE`, else the name of the user. */
  readonly database?: string;
  /** Default `PGUSER`, else the user of the process. */
  readonly user?: string;
  /** A function is asked for every new connection: short-lived passwords are renewed so. Default `PGPASSWORD`. */
  readonly password?: string | (() => string | Promise<string>);
  /** TLS: `true` checks the server's certificate against the system's authorities. Default off. */
  readonly ssl?: boolean | ConnectionOptions;
  /** Schema of the tables: one store each. Lower-case letters, digits and underscores. Default `millrace`. */
  readonly schema?: string;
  /** Create or update the schema when it is older than this version of millrace. Default true. */
  readonly migrate?: boolean;
  /** Connections of this process. Default 10. */
  readonly maxConnections?: number;
  /** Milliseconds to wait for a connection, new or from the pool. Default 5,000. */
  readonly connectTimeout?: number;
  /** Milliseconds that one statement may take. Default 30,000. */
  readonly statementTimeout?: number;
  /** Milliseconds to wait for another writer's lock. Default 10,000. */
  readonly lockTimeout?: number;
  /** Milliseconds after which the server ends a transaction whose client has fallen silent. Default 30,000. */
  readonly idleTransactionTimeout?: number;
  /** Milliseconds to keep asking what became of a commit whose reply was lost. Default 30,000. */
  readonly resolveTimeout?: number;
  /** Shown in the server's list of sessions. Default `millrace`. */
  readonly applicationName?: string;
}

/** The options with every default filled in; how to connect stays optional, since `pg` reads the environment. */
export interface PostgresSettings {
  readonly connection: Pick<
    PostgresOptions,
    'connectionString' | 'host' | 'port' | 'database' | 'user' | 'password' | 'ssl'
  >;
  readonly schema: string;
  readonly migrate: boolean;
  readonly maxConnections: number;
  readonly connectTimeout: number;
  readonly statementTimeout: number;
  readonly lockTimeout: number;
  readonly idleTransactionTimeout: number;
  readonly resolveTimeout: number;
  readonly applicationName: string;
}

const TIMEOUT_MAX = 2 ** 31 - 1;
const OPTION_NAMES = new Set([
  'connectionString',
  'host',
  'port',
  'database',
  'user',
  'password',
  'ssl',
  'schema',
  'migrate',
  'maxConnections',
  'connectTimeout',
  'statementTimeout',
  'lockTimeout',
  'idleTransactionTimeout',
  'resolveTimeout',
  'applicationName',
]);

/** Throws `ERR_MILLRACE_INVALID_ARGUMENT` naming the option, never its value where that may hold a password. */
export function checkPostgresOptions(options: PostgresOptions): PostgresSettings {
  checkOptionNames(options, OPTION_NAMES, 'postgres');
  const { schema = SCHEMA_DEFAULT, migrate = true } = options;
  if (typeof schema !== 'string' || !SCHEMA_PATTERN.test(schema)) {
    throw invalid(
      'option schema is at most 63 lower-case letters, digits and underscores, and does not start with pg_',
    );
  }
  return {
    connection: checkConnection(options),
    schema,
    migrate: flag('migrate', migrate),
    maxConnections: whole('maxConnections', options.maxConnections, 10, 1, 1_000),
    connectTimeout: whole('connectTimeout', options.connectTimeout, 5_000, 1, TIMEOUT_MAX),
    statementTimeout: whole('statementTimeout', options.statementTimeout, 30_000, 1, TIMEOUT_MAX),
    lockTimeout: whole('lockTimeout', options.lockTimeout, 10_000, 1, TIMEOUT_MAX),
    idleTransactionTimeout: whole('idleTransactionTimeout', options.idleTransactionTimeout, 30_000, 1, TIMEOUT_MAX),
    resolveTimeout: whole('resolveTimeout', options.resolveTimeout, 30_000, 1, TIMEOUT_MAX),
    applicationName: text('applicationName', options.applicationName) ?? 'millrace',
  };
}

function checkConnection(options: PostgresOptions): PostgresSettings['connection'] {
  const { password, ssl, connectionString } = options;
  if (password !== undefined && typeof password !== 'string' && typeof password !== 'function') {
    throw invalid('option password is a string, or a function that returns one');
  }
  if (ssl !== undefined && typeof ssl !== 'boolean' && typeof ssl !== 'object') {
    throw invalid('option ssl is true, false, or options of node:tls');
  }
  if (connectionString !== undefined) parseConnectionString(connectionString);
  optional('port', options.port, 1, 65_535);
  for (const name of ['host', 'database', 'user'] as const) text(name, options[name]);
  const names = ['connectionString', 'host', 'port', 'database', 'user', 'password', 'ssl'] as const;
  return Object.fromEntries(names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]));
}

/** The parser's own error carries the whole string, password and all: it goes no further. */
export function parseConnectionString(connectionString: string): URL {
  const form = 'option connectionString is postgresql://user:password@host:port/database';
  let url: URL;
  try {
    url = new URL(connectionString);
  } catch {
    throw invalid(`${form}; special characters in it are percent-encoded`);
  }
  if (url.protocol !== 'postgres:' && url.protocol !== 'postgresql:') throw invalid(form);
  return url;
}

function text(name: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || value === '' || value.includes('\0')) throw invalid(`option ${name} is a text`);
  return value;
}
