/** Consumers and publishers of stores without a WAL. */
import { storeOffsets } from '../commands/offset-commands.ts';
import type { PublisherMark } from '../coordinator.ts';
import { change } from './change.ts';
import type { Database } from './database.ts';
import type { ConsumerRecord, PublisherRecord } from './records.ts';
import { notFound, storableId } from './stream-queries.ts';

/** A row of nulls stands for a stream that has none. */
type OrNulls<Row> = Row | { readonly [Column in keyof Row]: null };

export function keepOffsets(
  database: Database,
  streamId: number,
  offsets: ReadonlyMap<string, number | undefined>,
): Promise<void> {
  return change(
    database,
    async (loader) => {
      await loader.lockStreams([streamId]);
      if (loader.excerpt.lockedStreams.has(streamId)) await loader.loadConsumers(streamId);
    },
    (state) => storeOffsets(state, streamId, offsets),
  );
}

export async function trackedOffsets(database: Database, streamId: number): Promise<Map<string, number>> {
  const { streams, consumer_offsets } = database.tables;
  const text = `SELECT reference, stored_offset FROM ${streams} AS stream LEFT JOIN ${consumer_offsets} AS consumer
    ON consumer.stream_id = stream.stream_id AND stored_offset >= first_offset WHERE stream.stream_id = $1`;
  const rows = await database.read((session) => {
    return session.rows<OrNulls<Pick<ConsumerRecord, 'reference' | 'stored_offset'>>>(text, [storableId(streamId)]);
  });
  if (rows.length === 0) throw notFound(streamId);
  const offsets = new Map<string, number>();
  for (const row of rows) if (row.reference !== null) offsets.set(row.reference, row.stored_offset);
  return offsets;
}

export async function publisherMark(
  database: Database,
  streamId: number,
  reference: string,
): Promise<PublisherMark | undefined> {
  const { streams, publisher_marks } = database.tables;
  const text = `SELECT publishing_id, marked_offset FROM ${streams} AS stream LEFT JOIN ${publisher_marks} AS mark
    ON mark.stream_id = stream.stream_id AND reference = $2 WHERE stream.stream_id = $1`;
  const [row] = await database.read((session) => {
    return session.rows<OrNulls<Pick<PublisherRecord, 'publishing_id' | 'marked_offset'>>>(text, [
      storableId(streamId),
      // No publisher has such a name, and the server would not take it.
      reference.includes('\0') ? '' : reference,
    ]);
  });
  if (row === undefined) throw notFound(streamId);
  return row.publishing_id === null ? undefined : { publishingId: row.publishing_id, offset: row.marked_offset };
}
