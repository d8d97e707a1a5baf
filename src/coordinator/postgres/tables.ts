/** Names of everything the backend has in its schema, qualified and quoted: no search path is ever relied on. */
import { assert } from '../../base/assert.ts';

/** The tables whose rows follow from the state, parents before children. */
export const STATE_TABLES = [
  'counters',
  'streams',
  'objects',
  'runs',
  'jobs',
  'job_inputs',
  'finished_jobs',
  'lanes',
  'consumer_offsets',
  'publisher_marks',
] as const;
export type StateTable = (typeof STATE_TABLES)[number];

const OTHERS = [
  'schema_versions',
  'clock',
  'store',
  /** The one function: the server's clock in milliseconds. */
  'wall_clock',
] as const;
export type TableName = StateTable | (typeof OTHERS)[number];
export type Tables = Readonly<Record<TableName, string>>;

export const SCHEMA_DEFAULT = 'millrace';
/** A plain identifier, within PostgreSQL's 63 bytes; `pg_` belongs to the server. */
export const SCHEMA_PATTERN: RegExp = /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/;

export function tablesOf(schema: string): Tables {
  assert(SCHEMA_PATTERN.test(schema), 'the name of a schema is checked with the options');
  return Object.fromEntries([...STATE_TABLES, ...OTHERS].map((name) => [name, `"${schema}"."${name}"`])) as Tables;
}
