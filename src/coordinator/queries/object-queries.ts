/** Questions about objects and jobs, and the totals of the store. */
import type {
  CoordinatorStats,
  CoordinatorTimes,
  FoundRun,
  KeyClass,
  ObjectDescription,
  ObjectFilter,
} from '../coordinator.ts';
import type { JobDescription } from '../job.ts';
import { parseObjectKey } from '../object-key.ts';
import type { ObjectRow } from '../state/rows.ts';
import { NO_ROW, RUN } from '../state/run-table.ts';
import { keyOf, type State } from '../state/state.ts';
import { foundRun } from './stream-queries.ts';

function describeObject(object: ObjectRow): ObjectDescription {
  const { state, stateAt, committedAt, bytes, checksum, generation, rewriteBy, jobId } = object;
  const { liveBytes, liveRuns, liveTrackingBytes, firstTimestamp, lastTimestamp } = object;
  return {
    key: keyOf(object),
    state,
    stateAt,
    committedAt,
    bytes,
    checksum,
    generation,
    liveBytes,
    liveRuns,
    liveTrackingBytes,
    firstTimestamp,
    lastTimestamp,
    rewriteBy,
    jobId,
  };
}

export function listObjects(state: State, filter: ObjectFilter): ObjectDescription[] {
  const wanted = filter.state ?? 'committed';
  const limit = filter.limit ?? Infinity;
  const found: ObjectDescription[] = [];
  for (const object of state.objects.values()) {
    if (found.length >= limit) break;
    if (object.state === wanted && passes(object, filter)) found.push(describeObject(object));
  }
  return found;
}

function passes(object: ObjectRow, filter: ObjectFilter): boolean {
  const { after, unclaimed, maxGeneration = Infinity, maxBytes = Infinity, committedBefore = Infinity } = filter;
  if (after !== undefined && keyOf(object) <= after) return false;
  if (unclaimed === true && object.jobId !== undefined) return false;
  if (object.generation > maxGeneration || object.bytes > maxBytes) return false;
  return object.committedAt <= committedBefore;
}

/** Live runs in the order of their bytes. */
export function runsOfObject(state: State, object: ObjectRow | undefined): FoundRun[] {
  const found: FoundRun[] = [];
  if (object === undefined) return found;
  const key = keyOf(object);
  for (let row = object.firstRun; row !== NO_ROW; row = state.runs.get(row, RUN.nextInObject)) {
    found.push(foundRun(state, row, key));
  }
  return found.sort((left, right) => left.byteOffset - right.byteOffset);
}

export function listJobs(state: State): JobDescription[] {
  return [...state.jobs.values()].map(({ jobId, kind, worker, claimedAt, leaseUntil, inputs }) => {
    const inputKeys = inputs.flatMap((number) => {
      const object = state.objects.get(number);
      return object === undefined ? [] : [keyOf(object)];
    });
    return { jobId, kind, worker, claimedAt, leaseUntil, inputKeys };
  });
}

export function objectsToDelete(state: State, now: number, limit: number, times: CoordinatorTimes): string[] {
  const keys: string[] = [];
  for (const object of state.byState.deleting) {
    if (keys.length >= limit || now - object.stateAt < times.deleteGrace) break;
    keys.push(keyOf(object));
  }
  return keys;
}

export function classifyKey(state: State, key: string): KeyClass {
  if (parseObjectKey(key) === undefined) return 'unknown';
  return state.findObject(key)?.state ?? 'unknown';
}

export function statsOf(state: State, now: number): CoordinatorStats {
  const { reserved, committed, deleting, gone } = state.byState;
  return {
    streams: state.streams.size,
    runs: state.runs.count,
    jobs: state.jobs.size,
    objects: { reserved: reserved.size, committed: committed.size, deleting: deleting.size, gone: gone.size },
    committedBytes: state.committedBytes,
    liveBytes: state.liveBytes,
    deletingBytes: state.deletingBytes,
    now,
  };
}
