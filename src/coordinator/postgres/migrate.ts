/** Brings a schema up to the version of this code, once, however many processes open it at the same time. */
import { MIGRATIONS } from './migrations.ts';
import { checkVersion, SCHEMA_VERSION, tooNew, versionQuery, type VersionRow } from './schema-version.ts';
import type { Session } from './session.ts';
import type { Tables } from './tables.ts';

/** Checks the schema, and creates or updates it where `migrate` allows that. */
export async function prepareSchema(session: Session, schema: string, tables: Tables, migrate: boolean): Promise<void> {
  const version = await readVersion(session, tables);
  if (version === SCHEMA_VERSION) return;
  if (!migrate || version > SCHEMA_VERSION) {
    checkVersion({ version }, schema);
    return;
  }
  await session.script('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = on');
  try {
    await runMigrations(session, schema, tables);
    await session.commit();
  } catch (error) {
    await session.script('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

async function readVersion(session: Session, tables: Tables): Promise<number> {
  const [found] = await session.rows<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [
    tables.schema_versions,
  ]);
  if (found?.exists !== true) return 0;
  const [row] = await session.rows<VersionRow>(versionQuery(tables));
  return row?.version ?? 0;
}

/** Building an index over a large table takes as long as it takes, and so does waiting for whoever does it already. */
async function runMigrations(session: Session, schema: string, tables: Tables): Promise<void> {
  await session.script('SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0');
  await session.rows('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`millrace schema ${schema}`]);
  // Another process may have done it all while this one waited, and creating what exists needs a right that using it
  // does not.
  const [found] = await session.rows<{ exists: boolean }>('SELECT to_regnamespace($1) IS NOT NULL AS exists', [schema]);
  if (found?.exists !== true) await session.script(`CREATE SCHEMA "${schema}"`);
  await session.script(`CREATE TABLE IF NOT EXISTS ${tables.schema_versions} (
    version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now()
  )`);
  // Transactions of older code read the version first: they are waited for, and later ones see the new version.
  await session.script(`LOCK TABLE ${tables.schema_versions} IN ACCESS EXCLUSIVE MODE`);
  const version = await readVersion(session, tables);
  if (version > SCHEMA_VERSION) throw tooNew(version, schema);
  for (const [index, migration] of MIGRATIONS.entries()) {
    if (index < version) continue;
    await session.script(migration(tables));
    await session.rows(`INSERT INTO ${tables.schema_versions} (version) VALUES ($1)`, [index + 1]);
  }
}
