/** Finds the places in a locked stream's list at which a change begins or ends. */
import { FAR, type Loader } from './loader.ts';

/** Runs that one transaction ends at most. */
const STEP_RUNS = 10_000;

/**
 * The offset to trim before in one step: `beforeOffset`, or on the way to it. Where the command would refuse or has
 * nothing to do there is nothing to divide.
 */
export async function stepTowards(loader: Loader, streamId: number, beforeOffset: number): Promise<number> {
  const stream = loader.excerpt.state.streams.get(streamId);
  if (stream === undefined || !Number.isSafeInteger(beforeOffset)) return beforeOffset;
  if (beforeOffset <= stream.firstOffset || beforeOffset > stream.nextOffset) return beforeOffset;
  const [row] = await loader.session.rows<{ end_offset: number }>(
    `SELECT end_offset FROM ${loader.tables.runs} WHERE stream_id = $1 AND end_offset > $2 AND end_offset <= $3
      ORDER BY end_offset, position OFFSET ${STEP_RUNS - 1} LIMIT 1`,
    [streamId, stream.firstOffset, beforeOffset],
  );
  return row?.end_offset ?? beforeOffset;
}

/** Position of the last run that ends at or before `offset`; 0 when there is none. */
export async function lastPositionUpTo(loader: Loader, streamId: number, offset: number): Promise<number> {
  const [row] = await loader.session.rows<{ position: number }>(
    `SELECT position FROM ${loader.tables.runs} WHERE stream_id = $1 AND end_offset <= $2
      ORDER BY end_offset DESC, position DESC LIMIT 1`,
    [streamId, offset],
  );
  return row?.position ?? 0;
}

/** Loads what a truncation at `nextOffset` ends or cuts: nothing without the stream, or for a wrong offset. */
export async function loadTail(loader: Loader, streamId: number, nextOffset: number): Promise<void> {
  if (!loader.excerpt.lockedStreams.has(streamId) || !Number.isSafeInteger(nextOffset)) return;
  const [row] = await loader.session.rows<{ position: number }>(
    `SELECT position FROM ${loader.tables.runs} WHERE stream_id = $1 AND end_offset > $2
      ORDER BY end_offset, position LIMIT 1`,
    [streamId, nextOffset],
  );
  await loader.loadList(streamId, row?.position ?? FAR, FAR);
}
