/** Carries the difference between two snapshots over to the tables: a few statements, whatever their number of rows. */
import { assert } from '../../base/assert.ts';
import type { Excerpt } from './excerpt.ts';
import type { ObjectRecord, StreamRecord } from './records.ts';
import type { Session } from './session.ts';
import type { Changes } from './snapshot.ts';
import { STATE_TABLES, type StateTable, type Tables } from './tables.ts';

const KEYS: Readonly<Record<StateTable, readonly string[]>> = {
  counters: ['name'],
  streams: ['stream_id'],
  objects: ['number'],
  runs: ['object_number', 'byte_offset'],
  jobs: ['job_id'],
  job_inputs: ['object_number'],
  finished_jobs: ['job_id'],
  lanes: ['lane'],
  consumer_offsets: ['stream_id', 'reference'],
  publisher_marks: ['stream_id', 'reference'],
};

/** Rows of one statement: its text form stays below a few megabytes. */
const ROWS_AT_ONCE = 5_000;

/** Children leave before their parents, and everything leaves before anything takes its place. */
export async function writeChanges(session: Session, tables: Tables, changes: Changes): Promise<void> {
  for (const table of [...STATE_TABLES].reverse()) await removeRows(session, tables, table, changes[table].deleted);
  for (const table of STATE_TABLES) {
    await insertRows(session, tables, table, changes[table].inserted);
    await updateRows(session, tables, table, changes[table].updated);
  }
}

/** A change to what was not locked would overwrite somebody else's. */
export function checkLocks(excerpt: Excerpt, { streams, objects }: Changes): void {
  for (const record of [...streams.updated, ...streams.deleted] as readonly StreamRecord[]) {
    assert(excerpt.lockedStreams.has(record.stream_id), 'only locked streams change');
  }
  for (const record of [...objects.updated, ...objects.deleted] as readonly ObjectRecord[]) {
    assert(excerpt.lockedObjects.has(record.number), 'only locked objects change');
  }
}

async function insertRows(session: Session, tables: Tables, table: StateTable, rows: readonly object[]): Promise<void> {
  await inParts(rows, (part, columns) => {
    const list = columns.join(', ');
    const text = `INSERT INTO ${tables[table]} (${list}) SELECT ${list} FROM ${parameter(tables, table)}`;
    return session.change(part.length, text, [JSON.stringify(part)]);
  });
}

async function updateRows(session: Session, tables: Tables, table: StateTable, rows: readonly object[]): Promise<void> {
  await inParts(rows, (part, columns) => {
    const changing = columns.filter((column) => !KEYS[table].includes(column));
    const list = changing.map((column) => `${column} = new.${column}`).join(', ');
    const text = `UPDATE ${tables[table]} AS old SET ${list} FROM ${parameter(tables, table)} WHERE ${matching(table)}`;
    return session.change(part.length, text, [JSON.stringify(part)]);
  });
}

async function removeRows(session: Session, tables: Tables, table: StateTable, rows: readonly object[]): Promise<void> {
  await inParts(rows, (part) => {
    const text = `DELETE FROM ${tables[table]} AS old USING ${parameter(tables, table)} WHERE ${matching(table)}`;
    return session.change(part.length, text, [JSON.stringify(part)]);
  });
}

/** Rows come as one JSON text, typed by the table itself. */
function parameter(tables: Tables, table: StateTable): string {
  return `json_populate_recordset(NULL::${tables[table]}, $1::json) AS new`;
}

function matching(table: StateTable): string {
  return KEYS[table].map((column) => `old.${column} = new.${column}`).join(' AND ');
}

async function inParts(
  rows: readonly object[],
  send: (part: readonly object[], columns: readonly string[]) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    const part = rows.slice(from, from + ROWS_AT_ONCE);
    await send(part, Object.keys(part[0] ?? {}));
  }
}
