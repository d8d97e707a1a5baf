/** A stream's tracking state out of its segments: one snapshot and the deltas behind it, however long the stream is. */
import type { Coordinator, FoundRun } from '../coordinator/coordinator.ts';
import { decodeTracking, type TrackingEntry } from '../record/tracking-format.ts';
import { TrackingState } from '../record/tracking-state.ts';
import { CHUNK_TYPE } from '../segment/chunk-format.ts';
import { chunkTracking } from '../segment/chunk-reader.ts';
import { segmentCorrupt } from '../segment/errors.ts';
import type { SegmentAccess } from './segment-access.ts';

/** Runs read at once: objects may be far away. */
const RUNS_AT_ONCE = 16;

/** Tracking behind the newest snapshot: what opening had to read besides it. */
export interface TrackingDebt {
  /** Of entries. */
  readonly bytes: number;
  readonly runs: number;
}

export interface LoadedTracking {
  readonly state: TrackingState;
  readonly debt: TrackingDebt;
  /** Records below the log start are kept in objects for the tracking beside them alone, until the next snapshot. */
  readonly held: boolean;
}

/** `unflushed`: what frames of the WAL say behind the segments, in log order. */
export async function loadTracking(
  coordinator: Coordinator,
  segments: SegmentAccess,
  streamId: number,
  unflushed: readonly TrackingEntry[],
): Promise<LoadedTracking> {
  const state = new TrackingState();
  const debt = { bytes: 0, runs: 0 };
  const runs = await coordinator.findTrackingRuns(streamId);
  for (let from = 0; from < runs.length; from += RUNS_AT_ONCE) {
    const group = runs.slice(from, from + RUNS_AT_ONCE);
    for (const entries of await Promise.all(group.map((run) => entriesOf(segments, run)))) {
      if (entries.isSnapshot) {
        state.replace(entries.entries);
        continue;
      }
      state.apply(entries.entries);
      debt.bytes += entries.bytes;
      debt.runs += 1;
    }
  }
  // These may be in the segments by now: applied again, they say the same.
  state.apply(unflushed);
  const { firstOffset } = await coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
  state.evictBelow(firstOffset);
  return { state, debt, held: holdsBelow(runs, firstOffset) };
}

/** Whether the runs that the tracking of a stream is read from hold records of which none can be read any more. */
export function holdsBelow([oldest]: readonly FoundRun[], firstOffset: number): boolean {
  // All of them are kept for the newest snapshot, or for all tracking where there is none.
  return oldest !== undefined && oldest.records > 0 && oldest.endOffset <= firstOffset;
}

interface RunEntries {
  readonly entries: readonly TrackingEntry[];
  readonly bytes: number;
  readonly isSnapshot: boolean;
}

async function entriesOf(segments: SegmentAccess, run: FoundRun): Promise<RunEntries> {
  const chunk = await segments.trackingChunk(run);
  const tracking = chunkTracking(chunk);
  const entries = decodeTracking(tracking);
  const isSnapshot = chunk.header.type === CHUNK_TYPE.trackingSnapshot;
  if (entries === undefined || isSnapshot !== run.trackingSnapshot) {
    const expected = run.trackingSnapshot ? 'a tracking snapshot' : 'tracking entries';
    throw segmentCorrupt(chunk.objectKey, chunk.position, `expected ${expected}`);
  }
  return { entries, bytes: tracking.length, isSnapshot };
}
