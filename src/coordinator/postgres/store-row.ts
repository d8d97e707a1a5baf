/** What is said of the store as a whole. */
import { required } from '../../base/assert.ts';
import type { Database } from './database.ts';

/** Made with the schema, and never changed. */
export async function readStoreId(database: Database): Promise<Uint8Array> {
  const text = `SELECT id FROM ${database.tables.store}`;
  const [row] = await database.read((session) => session.rows<{ readonly id: Uint8Array }>(text));
  return Uint8Array.from(required(row, 'a schema has an id').id);
}

export async function compactionPaused(database: Database): Promise<boolean> {
  const text = `SELECT compaction_paused FROM ${database.tables.store}`;
  const [row] = await database.read((session) => session.rows<{ readonly compaction_paused: boolean }>(text));
  return required(row, 'a schema has one row for its store').compaction_paused;
}

export function setCompactionPaused(database: Database, paused: boolean): Promise<void> {
  const text = `UPDATE ${database.tables.store} SET compaction_paused = $1`;
  return database.transaction(async (session) => {
    await session.rows(text, [paused]);
    return { answer: undefined, wrote: true };
  });
}
