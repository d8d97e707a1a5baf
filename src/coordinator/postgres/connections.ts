/** The pool of connections, and what every connection is told when it is made. */
import pg from 'pg';
import { assert } from '../../base/assert.ts';
import type { Place } from './postgres-errors.ts';
import { parseConnectionString, type PostgresSettings } from './options.ts';

const PORT_DEFAULT = 5432;
/** The server's own timeout comes first; this one is for a network that swallows packets. */
const SILENCE_ALLOWANCE = 5_000;
const INT8_OID = 20;
const INT8_ARRAY_OID = 1016;

/** Every 64-bit integer of the schema is one that millrace counts with. */
function parseInt8(text: string): number {
  const value = Number(text);
  assert(Number.isSafeInteger(value), 'integers of the schema are exact as numbers');
  return value;
}

function parseInt8Array(text: string): number[] {
  return (parseAs(INT8_ARRAY_OID)(text) as string[]).map(parseInt8);
}

/** The driver's types know its own list of types only. */
type AnyTypeParser = (oid: number, format: 'text') => (text: string) => unknown;

function parseAs(oid: number): (text: string) => unknown {
  return (pg.types.getTypeParser as AnyTypeParser)(oid, 'text');
}

/** Results always come as text. */
function getTypeParser(oid: number): (text: string) => unknown {
  if (oid === INT8_OID) return parseInt8;
  return oid === INT8_ARRAY_OID ? parseInt8Array : parseAs(oid);
}

export interface Connections {
  readonly pool: pg.Pool;
  readonly place: Place;
}

export function openConnections(settings: PostgresSettings): Connections {
  const { connection, statementTimeout } = settings;
  const { password, ...facts } = connection;
  const secrets = new Set<string>(secretsOf(connection));
  const ask = async (): Promise<string> => {
    const answer = await (password as () => string | Promise<string>)();
    secrets.add(answer);
    return answer;
  };
  const pool = new pg.Pool({
    ...facts,
    ...(password === undefined ? {} : { password: typeof password === 'function' ? ask : password }),
    max: settings.maxConnections,
    connectionTimeoutMillis: settings.connectTimeout,
    statement_timeout: statementTimeout,
    query_timeout: statementTimeout + Math.min(statementTimeout, SILENCE_ALLOWANCE),
    lock_timeout: settings.lockTimeout,
    idle_in_transaction_session_timeout: settings.idleTransactionTimeout,
    application_name: settings.applicationName,
    keepAlive: true,
    types: { getTypeParser: getTypeParser as typeof pg.types.getTypeParser },
  });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => undefined);
  return { pool, place: { name: placeName(connection), secrets: () => [...secrets] } };
}

function placeName(connection: PostgresSettings['connection']): string {
  const url =
    connection.connectionString === undefined ? undefined : parseConnectionString(connection.connectionString);
  const host = connection.host ?? (url?.hostname || undefined) ?? process.env['PGHOST'] ?? 'localhost';
  const port = connection.port ?? (Number(url?.port) || Number(process.env['PGPORT']) || PORT_DEFAULT);
  const database = connection.database ?? (url?.pathname.slice(1) || undefined) ?? process.env['PGDATABASE'];
  return `PostgreSQL at ${host}:${port}${database === undefined ? '' : `/${database}`}`;
}

/** The password as it was given and as it is sent. */
function secretsOf({ password, connectionString }: PostgresSettings['connection']): string[] {
  const secrets: (string | undefined)[] = [process.env['PGPASSWORD']];
  if (typeof password === 'string') secrets.push(password);
  if (connectionString !== undefined) {
    const url = parseConnectionString(connectionString);
    secrets.push(connectionString, url.password, decoded(url.password), url.searchParams.get('password') ?? undefined);
  }
  return secrets.filter((secret): secret is string => secret !== undefined && secret !== '');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
