/** A stream's tracking state out of its segments: one snapshot and the deltas behind it, however long the stream is. */
import type { Coordinator } from '../coordinator/coordinator.ts';
import { decodeTracking, type TrackingEntry } from '../record/tracking-format.ts';
import { TrackingState } from '../record/tracking-state.ts';
import { CHUNK_TYPE } from '../segment/chunk-format.ts';
import { chunkTracking, type StoredChunk } from '../segment/chunk-reader.ts';
import { segmentCorrupt } from '../segment/errors.ts';
import type { SegmentAccess } from './segment-access.ts';

/** `unflushed`: what frames of the WAL say behind the segments, in log order. */
export async function loadTracking(
  coordinator: Coordinator,
  segments: SegmentAccess,
  streamId: number,
  unflushed: readonly TrackingEntry[],
): Promise<TrackingState> {
  const state = new TrackingState();
  for (const run of await coordinator.findTrackingRuns(streamId)) {
    for (const chunk of await segments.trackingChunks(run)) applyChunk(state, chunk);
  }
  // These may be in the segments by now: applied again, they say the same.
  state.apply(unflushed);
  return state;
}

function applyChunk(state: TrackingState, chunk: StoredChunk): void {
  const entries = decodeTracking(chunkTracking(chunk));
  if (entries === undefined) throw segmentCorrupt(chunk.objectKey, chunk.position, 'expected tracking entries');
  if (chunk.header.type === CHUNK_TYPE.trackingSnapshot) state.replace(entries);
  else state.apply(entries);
}
