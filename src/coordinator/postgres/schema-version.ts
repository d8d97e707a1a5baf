/** Which version of the schema a database has, and whether this code may use it. */
import { MillraceError } from '../../errors/millrace-error.ts';
import { MIGRATIONS } from './migrations.ts';
import type { Tables } from './tables.ts';

export const SCHEMA_VERSION: number = MIGRATIONS.length;

export interface VersionRow {
  readonly version: number;
}

/** One row; version 0 is a schema in which no migration has finished. */
export function versionQuery({ schema_versions }: Tables): string {
  return `SELECT coalesce(max(version), 0) AS version FROM ${schema_versions}`;
}

/** Throws unless the schema is exactly the one this code knows. */
export function checkVersion(row: VersionRow | undefined, schema: string): void {
  const version = row?.version ?? 0;
  if (version > SCHEMA_VERSION) throw tooNew(version, schema);
  if (version < SCHEMA_VERSION) {
    throw new MillraceError(
      'ERR_MILLRACE_REFUSED',
      `schema ${schema} has version ${version}, this millrace needs ${SCHEMA_VERSION}: open it with migrate: true`,
      { details: { schema, version, needed: SCHEMA_VERSION } },
    );
  }
}

export function tooNew(version: number, schema: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_FORMAT_TOO_NEW',
    `schema ${schema} has version ${version}, this millrace knows up to ${SCHEMA_VERSION}: update millrace`,
    { details: { schema, version, known: SCHEMA_VERSION } },
  );
}
