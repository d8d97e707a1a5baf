/** The schema in the database: made once, brought up to date, refused when it is newer, and one store each. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { Coordinator } from '../../../src/coordinator/coordinator.ts';
import { MIGRATIONS } from '../../../src/coordinator/postgres/migrations.ts';
import { tablesOf } from '../../../src/coordinator/postgres/tables.ts';
import { isMillraceError } from '../../../src/errors/millrace-error.ts';
import { commitRuns, makeStream, PLAIN, sampleRun } from '../../../src/testing/coordinator/samples.ts';
import { newSchema, openOn } from '../../support/postgres-coordinators.ts';
import { findPostgres, PostgresServer } from '../../support/postgres-server.ts';

const postgres = await findPostgres();
const skip = 'missing' in postgres ? postgres.missing : false;
const VERSIONS = MIGRATIONS.map((_, index) => index + 1);

describe('schema of the PostgreSQL coordinator', { skip }, () => {
  let server: PostgresServer;
  let schema: string;
  const opened: Coordinator[] = [];
  const open = async (options: Parameters<typeof openOn>[1] = {}): Promise<Coordinator> => {
    const coordinator = await openOn(server, { schema, ...options });
    opened.push(coordinator);
    return coordinator;
  };
  const versions = async (): Promise<number[]> => {
    const rows = await server.query<{ version: number }>(
      `SELECT version FROM ${schema}.schema_versions ORDER BY version`,
    );
    return rows.map(({ version }) => version);
  };
  before(async () => {
    if ('bin' in postgres) server = await PostgresServer.start(postgres.bin);
  });
  after(() => server.stop());
  beforeEach(() => {
    schema = newSchema();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((coordinator) => coordinator.close()));
    await server.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  });

  test('processes that open it at the same time make it once', async () => {
    const coordinators = await Promise.all(Array.from({ length: 8 }, () => open()));
    assert.deepEqual(await versions(), VERSIONS);
    assert.equal(new Set(coordinators.map(({ storeId }) => Buffer.from(storeId).toString('hex'))).size, 1);
  });

  test('each step leads from a schema of any older version to this one, with what is in it', async () => {
    for (let from = 1; from < MIGRATIONS.length; from += 1) {
      const tables = tablesOf(schema);
      await server.script(`CREATE SCHEMA ${schema};
        CREATE TABLE ${tables.schema_versions} (version integer PRIMARY KEY, applied_at timestamptz DEFAULT now())`);
      for (const [index, migration] of MIGRATIONS.slice(0, from).entries()) {
        await server.script(`${migration(tables)}; INSERT INTO ${tables.schema_versions} VALUES (${index + 1})`);
      }
      await server.query(`INSERT INTO ${tables.lanes} VALUES (3, 14, 15)`);
      const coordinator = await open();
      assert.deepEqual(await versions(), VERSIONS);
      assert.deepEqual(await coordinator.flushedSlots(), [{ lane: 3, slotSequence: 14, blockSequence: 15 }]);
      await commitRuns(coordinator, [sampleRun(await makeStream(coordinator, 'a'), 0, 1)]);
      assert.deepEqual(await coordinator.verify(), []);
      await server.query(`DROP SCHEMA ${schema} CASCADE`);
    }
  });

  test('a migration that fails leaves nothing of itself', async () => {
    await server.script(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.runs (unexpected integer)`);
    await assert.rejects(open(), (error) => isMillraceError(error));
    const tables = await server.query<{ name: string }>(
      'SELECT tablename AS name FROM pg_tables WHERE schemaname = $1',
      [schema],
    );
    assert.deepEqual(tables, [{ name: 'runs' }]);
  });

  test('a newer schema is not opened', async () => {
    await open();
    await server.query(`INSERT INTO ${schema}.schema_versions VALUES (99)`);
    await assert.rejects(open(), (error) => {
      return isMillraceError(error, 'ERR_MILLRACE_FORMAT_TOO_NEW') && error.details['version'] === 99;
    });
    assert.deepEqual(await versions(), [...VERSIONS, 99]);
  });

  test('a coordinator that is open while the schema becomes newer changes nothing from then on', async () => {
    const coordinator = await open();
    await server.query(`INSERT INTO ${schema}.schema_versions VALUES (99)`);
    const tooNew = (error: unknown): boolean => isMillraceError(error, 'ERR_MILLRACE_FORMAT_TOO_NEW');
    await assert.rejects(coordinator.createStream('a', PLAIN), tooNew);
    await assert.rejects(coordinator.reserveObjects(1), tooNew);
    assert.deepEqual(await server.query(`SELECT FROM ${schema}.streams`), []);
  });

  test('a migration waits for the transactions of older code, and later ones see it', async () => {
    const coordinator = await open();
    const migrator = await server.connect();
    await migrator.query('BEGIN');
    await migrator.query(`LOCK TABLE ${schema}.schema_versions IN ACCESS EXCLUSIVE MODE`);
    const creating = assert.rejects(coordinator.createStream('a', PLAIN), (error) => {
      return isMillraceError(error, 'ERR_MILLRACE_FORMAT_TOO_NEW');
    });
    await migrator.query(`INSERT INTO ${schema}.schema_versions VALUES (99)`);
    await migrator.query('COMMIT');
    await migrator.end();
    await creating;
  });

  test('without migrate, a missing schema is refused with its remedy', async () => {
    await assert.rejects(open({ migrate: false }), (error) => {
      return isMillraceError(error, 'ERR_MILLRACE_REFUSED') && error.message.includes('migrate: true');
    });
    assert.deepEqual(await server.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]), []);
  });

  test('a role that may use the tables and make none can open a schema that is there', async () => {
    const user = `role_${schema}`;
    await server.script(`CREATE ROLE ${user} LOGIN PASSWORD 'plain'`);
    await assert.rejects(open({ user, password: 'plain' }), (error) => {
      return isMillraceError(error, 'ERR_MILLRACE_REFUSED') && error.details['reason'] === 'SQLSTATE 42501';
    });
    await open();
    await server.script(`
      GRANT USAGE ON SCHEMA ${schema} TO ${user};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${user}`);
    const coordinator = await open({ user, password: 'plain' });
    const streamId = await makeStream(coordinator, 'a', { deletionDeadline: 5 });
    await commitRuns(coordinator, [sampleRun(streamId, 0, 1)], { wal: { lane: 0, slotSequence: 1, blockSequence: 1 } });
    assert.equal(await coordinator.deleteStream(streamId), true);
    await coordinator.close();
    await server.script(`DROP OWNED BY ${user}; DROP ROLE ${user}`);
  });

  test('the page on the schema names every table and every column, and no other', async () => {
    await open();
    const rows = await server.query<{ table: string; column: string }>(
      `SELECT table_name AS table, column_name AS column FROM information_schema.columns WHERE table_schema = $1`,
      [schema],
    );
    const page = await readFile(new URL('../../../../docs/formats/postgres.md', import.meta.url), 'utf8');
    const tables = page.slice(page.indexOf('## Tables'), page.indexOf('## What always holds'));
    const cells = tables.split('\n').flatMap((line) => (line.startsWith('| `') ? [line.split('|')[1] ?? ''] : []));
    const documented = new Set(cells.flatMap((cell) => cell.match(/[a-z_]+/g) ?? []));
    assert.deepEqual([...documented].sort(), [...new Set(rows.map(({ column }) => column))].sort());
    for (const { table } of rows) assert.ok(tables.includes(`\`${table}\``), table);
  });

  test('two schemas of one database are two stores', async () => {
    const one = await open();
    const other = await open({ schema: `${schema}_other` });
    await one.createStream('a', PLAIN);
    assert.deepEqual(await other.streams(), []);
    assert.notDeepEqual(one.storeId, other.storeId);
    await other.close();
    await server.query(`DROP SCHEMA ${schema}_other CASCADE`);
  });

  test('commits are on disk when they are answered, whatever the default of the role is', async () => {
    const coordinator = await open();
    await server.script(`
      CREATE TABLE ${schema}.seen AS SELECT ''::text AS setting, ''::text AS isolation WHERE false;
      CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO ${schema}.seen
          VALUES (current_setting('synchronous_commit'), current_setting('transaction_isolation'));
        RETURN NULL;
      END $$;
      CREATE TRIGGER note AFTER INSERT ON ${schema}.streams EXECUTE FUNCTION ${schema}.note();
      ALTER ROLE postgres SET synchronous_commit = off;
      ALTER ROLE postgres SET default_transaction_isolation = 'serializable'`);
    const late = await open();
    await late.createStream('a', PLAIN);
    await coordinator.createStream('b', PLAIN);
    await server.script('ALTER ROLE postgres RESET ALL');
    const expected = { setting: 'on', isolation: 'read committed' };
    assert.deepEqual(await server.query(`SELECT * FROM ${schema}.seen`), [expected, expected]);
  });
});
