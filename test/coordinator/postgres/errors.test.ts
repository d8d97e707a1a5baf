/** What callers are told when PostgreSQL refuses, and what they are never told. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { inspect } from 'node:util';
import type { Coordinator } from '../../../src/coordinator/coordinator.ts';
import type { PostgresOptions } from '../../../src/coordinator/postgres/options.ts';
import { postgresError } from '../../../src/coordinator/postgres/postgres-errors.ts';
import { isMillraceError, type MillraceError } from '../../../src/errors/millrace-error.ts';
import type { ErrorCode } from '../../../src/errors/codes.ts';
import { postgres as describeCoordinator } from '../../../src/postgres.ts';
import { commitRuns, makeStream, PLAIN, sampleRun } from '../../../src/testing/coordinator/samples.ts';
import { newSchema, openOn } from '../../support/postgres-coordinators.ts';
import { findPostgres, PostgresServer } from '../../support/postgres-server.ts';

const SECRET = 'p4ss:w%rd/#1';
const ENCODED = encodeURIComponent(SECRET);

async function refusalOf(work: () => Promise<unknown>): Promise<MillraceError> {
  try {
    await work();
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: 'this should have been refused' });
}

/** Everything that could end up in a log. */
function everythingIn(value: unknown): string {
  const { stack, message, cause, details } = value as Error & { details?: unknown };
  return [
    inspect(value, { depth: 20, showHidden: true }),
    stack,
    message,
    inspect(cause),
    JSON.stringify(details),
  ].join();
}

function assertNoSecret(value: unknown): void {
  const text = everythingIn(value);
  for (const secret of [SECRET, ENCODED]) assert.ok(!text.includes(secret), text);
}

describe('options of the PostgreSQL coordinator', () => {
  const wrong: readonly [string, unknown][] = [
    ['an option that does not exist', { hots: 'localhost' }],
    ['no object', 'postgresql://localhost'],
    ['an empty host', { host: '' }],
    ['a port beyond the last one', { port: 65_536 }],
    ['a schema of the server', { schema: 'pg_catalog' }],
    ['a schema that would need quotes', { schema: 'Robert"; DROP' }],
    ['a schema of 64 characters', { schema: 'a'.repeat(64) }],
    ['no connections', { maxConnections: 0 }],
    ['a timeout that is no number', { statementTimeout: '5s' }],
    ['a password that is a number', { password: 5 }],
    ['an ssl that is a word', { ssl: 'yes' }],
    ['a migrate that is a word', { migrate: 'no' }],
    ['a connection string of another protocol', { connectionString: `mysql://user:${ENCODED}@host/db` }],
    ['a connection string whose password is not encoded', { connectionString: `postgresql://user:${SECRET}@host/db` }],
  ];
  for (const [what, options] of wrong) {
    test(`${what} is refused before anything is sent`, () => {
      assert.throws(
        () => describeCoordinator(options as PostgresOptions),
        (error) => {
          assertNoSecret(error);
          return isMillraceError(error, 'ERR_MILLRACE_INVALID_ARGUMENT');
        },
      );
    });
  }
});

const found = await findPostgres();
const skip = 'missing' in found ? found.missing : false;

describe('what an error of the driver means', () => {
  const place = { name: 'PostgreSQL at host:5432', secrets: () => [SECRET] };
  const cases: readonly [string, Error, ErrorCode][] = [
    ['a standby that was reached in a failover', sqlError('0A000'), 'ERR_MILLRACE_UNAVAILABLE'],
    ['a server that became read-only', sqlError('25006'), 'ERR_MILLRACE_UNAVAILABLE'],
    ['a server that is starting', sqlError('57P03'), 'ERR_MILLRACE_UNAVAILABLE'],
    ['no free connection', sqlError('53300'), 'ERR_MILLRACE_UNAVAILABLE'],
    ['no right', sqlError('42501'), 'ERR_MILLRACE_REFUSED'],
    ['a pipe that broke', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }), 'ERR_MILLRACE_UNAVAILABLE'],
    ['an answer that never came', new Error('Query read timeout'), 'ERR_MILLRACE_UNAVAILABLE'],
    [
      'a certificate of nobody known',
      Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      'ERR_MILLRACE_REFUSED',
    ],
  ];
  for (const [what, error, code] of cases) {
    test(`${what} is ${code}`, () => {
      const mapped = postgresError(error, place);
      assert.ok(isMillraceError(mapped, code), String(mapped));
      assertNoSecret(mapped);
    });
  }

  test('mistakes of millrace itself stay what they are', () => {
    const mistake = new TypeError('undefined is not a function');
    assert.equal(postgresError(mistake, place), mistake);
  });
});

function sqlError(state: string): Error {
  return Object.assign(new Error(`the server says ${SECRET}`), { name: 'error', code: state });
}

describe('errors of the PostgreSQL coordinator', { skip }, () => {
  let server: PostgresServer;
  let schema: string;
  let coordinator: Coordinator;
  before(async () => {
    if ('bin' in found) server = await PostgresServer.start(found.bin);
  });
  after(() => server.stop());
  beforeEach(async () => {
    schema = newSchema();
    coordinator = await openOn(server, { schema });
  });
  afterEach(async () => {
    await coordinator.close();
    await server.query(`DROP SCHEMA ${schema} CASCADE`);
  });

  const wrongConnections: readonly [string, (port: number) => PostgresOptions, ErrorCode][] = [
    [
      'a wrong password',
      (port) => ({ host: '127.0.0.1', port, user: 'postgres', password: SECRET }),
      'ERR_MILLRACE_REFUSED',
    ],
    [
      'a wrong password in a connection string',
      (port) => ({ connectionString: `postgresql://postgres:${ENCODED}@127.0.0.1:${port}/postgres` }),
      'ERR_MILLRACE_REFUSED',
    ],
    [
      'a wrong password from a function',
      (port) => ({ host: '127.0.0.1', port, user: 'postgres', password: async () => SECRET }),
      'ERR_MILLRACE_REFUSED',
    ],
    [
      'a password that its function fails to get',
      (port) => ({
        host: '127.0.0.1',
        port,
        user: 'postgres',
        password: () => Promise.reject(new Error('the vault is closed')),
      }),
      'ERR_MILLRACE_UNAVAILABLE',
    ],
    [
      'a server that is not there',
      () => ({ connectionString: `postgresql://postgres:${ENCODED}@127.0.0.1:1/postgres` }),
      'ERR_MILLRACE_UNAVAILABLE',
    ],
    [
      'TLS that the server does not speak',
      (port) => ({ host: '127.0.0.1', port, user: 'postgres', password: SECRET, ssl: true }),
      'ERR_MILLRACE_REFUSED',
    ],
  ];
  for (const [what, options, code] of wrongConnections) {
    test(`${what} is reported without the password`, async () => {
      const component = describeCoordinator({ ...options(server.options.port), schema });
      const error = await refusalOf(() => component.open());
      assert.equal(error.code, code, error.message);
      assert.match(error.message, /^PostgreSQL at 127\.0\.0\.1:/);
      assertNoSecret(error);
      assertNoSecret(component);
    });
  }

  test('a secret that the server itself repeats is taken out', async () => {
    const port = server.options.port;
    const component = describeCoordinator({ host: '127.0.0.1', port, user: SECRET, password: SECRET, schema });
    const error = await refusalOf(() => component.open());
    assert.equal(error.code, 'ERR_MILLRACE_REFUSED');
    assertNoSecret(error);
  });

  test('an open coordinator shows no password to whoever prints it', async () => {
    const text = everythingIn(coordinator);
    assert.ok(!text.includes(server.options.password as string), text);
  });

  test('a database that does not exist is refused with its remedy', async () => {
    const error = await refusalOf(() => openOn(server, { schema, database: 'nowhere' }));
    assert.equal(error.code, 'ERR_MILLRACE_REFUSED');
    assert.match(error.message, /create the database/);
  });

  test('a schema that was dropped behind its back is refused with its remedy', async () => {
    await server.query(`ALTER SCHEMA ${schema} RENAME TO ${schema}_away`);
    const error = await refusalOf(() => coordinator.reserveObjects(1));
    await server.query(`ALTER SCHEMA ${schema}_away RENAME TO ${schema}`);
    assert.equal(error.code, 'ERR_MILLRACE_REFUSED');
    assert.match(error.message, /migrate: true/);
  });

  test('a lock that is held too long makes the call unavailable, and nothing has changed', async () => {
    const streamId = await makeStream(coordinator, 'a');
    const hurried = await openOn(server, { schema, lockTimeout: 50 });
    const other = await server.connect();
    await other.query('BEGIN');
    await other.query(`SELECT FROM ${schema}.streams FOR UPDATE`);
    const error = await refusalOf(() => commitRuns(hurried, [sampleRun(streamId, 0, 1)]));
    assert.deepEqual([error.code, error.details['reason']], ['ERR_MILLRACE_UNAVAILABLE', 'SQLSTATE 55P03']);
    await other.query('ROLLBACK');
    await other.end();
    await commitRuns(hurried, [sampleRun(streamId, 0, 1)]);
    await hurried.close();
  });

  test('a statement that takes too long makes the call unavailable, and is not tried again', async () => {
    await breakInserts(`PERFORM pg_sleep(10)`);
    const hurried = await openOn(server, { schema, statementTimeout: 1_500 });
    const error = await refusalOf(() => hurried.createStream('a', PLAIN));
    assert.deepEqual([error.code, error.details['reason']], ['ERR_MILLRACE_UNAVAILABLE', 'SQLSTATE 57014']);
    assert.equal(await attempts(), 1);
    await hurried.close();
  });

  for (const state of ['40001', '40P01']) {
    test(`a collision (${state}) is tried again until there is none`, async () => {
      await breakInserts(
        `IF nextval('${schema}.failures') <= 3 THEN RAISE EXCEPTION USING ERRCODE = '${state}'; END IF`,
      );
      const { created } = await coordinator.createStream('a', PLAIN);
      assert.equal(created, true);
      assert.equal(await attempts(), 4);
    });
  }

  test('collisions without an end are reported, and whatever else fails is not tried again', async () => {
    const impatient = await openOn(server, { schema }, {}, { ...NO_PAUSE });
    await breakInserts(`RAISE EXCEPTION USING ERRCODE = '40001'`);
    const error = await refusalOf(() => impatient.createStream('a', PLAIN));
    assert.deepEqual([error.code, error.retryable], ['ERR_MILLRACE_UNAVAILABLE', true]);
    assert.equal(await attempts(), 11);
    for (const state of ['08006', '57P01', '53100', '23514']) {
      const before = await attempts();
      await breakInserts(`RAISE EXCEPTION USING ERRCODE = '${state}'`);
      const other = await refusalOf(() => impatient.createStream('a', PLAIN));
      assert.deepEqual([other.code, other.details['reason']], ['ERR_MILLRACE_UNAVAILABLE', `SQLSTATE ${state}`]);
      assert.equal(await attempts(), before + 1);
    }
    await impatient.close();
  });

  test('after close, calls are refused and close again is nothing', async () => {
    const closing = [coordinator.createStream('a', PLAIN), coordinator.close(), coordinator.close()];
    await Promise.all(closing);
    await assert.rejects(coordinator.streams(), (error) => isMillraceError(error, 'ERR_MILLRACE_CLOSED'));
    await assert.rejects(coordinator.reserveObjects(1), (error) => isMillraceError(error, 'ERR_MILLRACE_CLOSED'));
  });

  test('text that PostgreSQL cannot store is refused as an argument', async () => {
    const name = await refusalOf(() => coordinator.createStream('a\0b', PLAIN));
    assert.equal(name.code, 'ERR_MILLRACE_INVALID_STREAM_NAME');
    assert.equal(await coordinator.findStream('a\0b'), undefined);
    const plan = { kind: 'merge', inputKeys: ['no key'], hints: {} } as const;
    for (const worker of ['a\0b', '\ud800']) {
      const error = await refusalOf(() => coordinator.claimJob(worker, plan, 1000));
      assert.equal(error.code, 'ERR_MILLRACE_INVALID_ARGUMENT');
    }
    await coordinator.createStream('\ufffd', PLAIN);
    assert.equal(await coordinator.findStream('\ud800'), undefined);
  });

  /** Lets a statement of our own run before each stream is inserted, and counts how often that is tried. */
  async function breakInserts(statement: string): Promise<void> {
    await server.script(`
      CREATE SEQUENCE IF NOT EXISTS ${schema}.attempts;
      CREATE SEQUENCE IF NOT EXISTS ${schema}.failures;
      CREATE OR REPLACE FUNCTION ${schema}.break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM nextval('${schema}.attempts');
        ${statement};
        RETURN NEW;
      END $$;
      CREATE OR REPLACE TRIGGER break BEFORE INSERT ON ${schema}.streams
        FOR EACH ROW EXECUTE FUNCTION ${schema}.break()`);
  }

  async function attempts(): Promise<number> {
    const [row] = await server.query<{ last_value: string; is_called: boolean }>(`SELECT * FROM ${schema}.attempts`);
    return row?.is_called === true ? Number(row.last_value) : 0;
  }
});

const NO_PAUSE = { uint32: () => 0, below: () => 0, bytes: (length: number) => new Uint8Array(length) };
