/** Gathers the tracking of a run's parents into one body: a snapshot where it is all the stream has, else a delta. */
import { assert } from '../base/assert.ts';
import { decodeTracking, encodeTracking, type TrackingEntry } from '../record/tracking-format.ts';
import { coalesce, TrackingState } from '../record/tracking-state.ts';
import { CHUNK_TYPE } from '../segment/chunk-format.ts';
import { chunkTracking, type StoredChunk } from '../segment/chunk-reader.ts';
import { segmentCorrupt } from '../segment/errors.ts';
import type { LayoutRun } from './layout.ts';
import type { ParentReader } from './parent-reader.ts';

/** Entries gathered before they are coalesced: a bound of memory, not of what may be tracked. */
const ENTRIES_MAX = 65_536;

/**
 * Reads the parents that hold needed tracking. `undefined` when there is nothing to write; a snapshot is written even
 * when it is empty, for it keeps older tracking from coming back.
 */
export async function foldTracking(
  reader: ParentReader,
  run: LayoutRun,
  logStart: number,
): Promise<Uint8Array | undefined> {
  const state = new TrackingState();
  let entries: TrackingEntry[] = [];
  for (const parent of run.parents) {
    if (parent.tracking !== true) continue;
    for await (const chunk of reader.chunks(parent, run.streamId, true)) {
      const found = entriesOf(chunk);
      if (run.snapshot) {
        if (chunk.header.type === CHUNK_TYPE.trackingSnapshot) state.replace(found);
        else state.apply(found);
        continue;
      }
      assert(chunk.header.type !== CHUNK_TYPE.trackingSnapshot, 'a snapshot is the oldest tracking that is needed');
      entries.push(...found);
      if (entries.length > ENTRIES_MAX) entries = coalesce(entries);
    }
  }
  if (run.snapshot) {
    state.evictBelow(logStart);
    return encodeTracking(state.snapshot());
  }
  return entries.length === 0 ? undefined : encodeTracking(coalesce(entries));
}

function entriesOf(chunk: StoredChunk): TrackingEntry[] {
  const { type, trailerBytes } = chunk.header;
  if (type === CHUNK_TYPE.records && trailerBytes === 0) return [];
  const entries = decodeTracking(chunkTracking(chunk));
  if (entries !== undefined) return entries;
  throw segmentCorrupt(chunk.objectKey, chunk.position, 'its tracking entries do not fit their length');
}
