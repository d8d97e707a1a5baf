/**
 * The life of a run row: made, linked to its object, counted in its stream, and unlinked when it dies. The death of an
 * object's last run makes the object deleting in the same step.
 */
import { assert } from '../../base/assert.ts';
import type { CommitRun } from '../coordinator.ts';
import { settleObject } from './object-changes.ts';
import type { ObjectRow, StreamRow } from './rows.ts';
import { NO_ROW, RUN } from './run-table.ts';
import type { State } from './state.ts';

/** Makes the row of a live run and links it to its object. The caller puts it into its stream. */
export function addRun(state: State, object: ObjectRow, run: CommitRun, endOffset: number): number {
  const { runs } = state;
  const row = runs.allocate();
  runs.set(row, RUN.streamId, run.streamId);
  runs.set(row, RUN.firstOffset, run.firstOffset);
  runs.set(row, RUN.nextOffset, run.nextOffset);
  runs.set(row, RUN.endOffset, endOffset);
  runs.set(row, RUN.records, run.records);
  runs.set(row, RUN.userBytes, run.userBytes);
  runs.set(row, RUN.trackingBytes, run.trackingBytes);
  runs.set(row, RUN.firstTimestamp, run.firstTimestamp);
  runs.set(row, RUN.lastTimestamp, run.lastTimestamp);
  runs.set(row, RUN.epoch, run.epoch);
  runs.set(row, RUN.byteOffset, run.byteOffset);
  runs.set(row, RUN.byteLength, run.byteLength);
  runs.set(row, RUN.chunks, run.chunks);
  runs.set(row, RUN.snapshot, run.trackingSnapshot === true ? 1 : 0);
  linkToObject(state, object, row);
  return row;
}

function linkToObject(state: State, object: ObjectRow, row: number): void {
  const { runs } = state;
  const byteLength = runs.get(row, RUN.byteLength);
  assert(byteLength > 0, 'a live run has bytes, or its object would count as dead');
  runs.set(row, RUN.objectNumber, object.number);
  runs.set(row, RUN.nextInObject, NO_ROW);
  runs.set(row, RUN.previousInObject, object.lastRun);
  if (object.lastRun === NO_ROW) object.firstRun = row;
  else runs.set(object.lastRun, RUN.nextInObject, row);
  object.lastRun = row;
  object.liveRuns += 1;
  object.liveBytes += byteLength;
  object.liveTrackingBytes += runs.get(row, RUN.trackingBytes);
  state.liveBytes += byteLength;
}

/**
 * Ends a run: its bytes are dead from now on, and its object is deleting when it was the last one. The caller takes it
 * out of its stream first.
 */
export function killRun(state: State, row: number): void {
  const { runs } = state;
  const object = state.object(runs.get(row, RUN.objectNumber));
  const next = runs.get(row, RUN.nextInObject);
  const previous = runs.get(row, RUN.previousInObject);
  if (previous === NO_ROW) object.firstRun = next;
  else runs.set(previous, RUN.nextInObject, next);
  if (next === NO_ROW) object.lastRun = previous;
  else runs.set(next, RUN.previousInObject, previous);
  object.liveRuns -= 1;
  object.liveBytes -= runs.get(row, RUN.byteLength);
  object.liveTrackingBytes -= runs.get(row, RUN.trackingBytes);
  state.liveBytes -= runs.get(row, RUN.byteLength);
  runs.free(row);
  settleObject(state, object);
}

/** Records that a run's offsets are readable: the sums of its stream grow, or shrink with `sign` -1. */
export function countVisible(state: State, stream: StreamRow, row: number, sign: 1 | -1): void {
  const { runs } = state;
  stream.records += sign * recordsOf(state, row);
  stream.userBytes += sign * runs.get(row, RUN.userBytes);
  stream.trackingBytes += sign * runs.get(row, RUN.trackingBytes);
  stream.storedBytes += sign * runs.get(row, RUN.byteLength);
  stream.objectCounts?.add(runs.get(row, RUN.objectNumber), sign);
}

/** Records that a run is in the stream's list, visible or held. */
export function countTracking(state: State, stream: StreamRow, row: number, sign: 1 | -1): void {
  if (state.runs.get(row, RUN.snapshot) === 1) stream.snapshotRuns += sign;
  if (state.runs.get(row, RUN.trackingBytes) > 0) stream.trackingRuns += sign;
}

/** Records below the end of a run: known exactly when it is dense, all of them otherwise. */
export function recordsOf(state: State, row: number): number {
  return isDense(state, row)
    ? state.runs.get(row, RUN.endOffset) - state.runs.get(row, RUN.firstOffset)
    : state.runs.get(row, RUN.records);
}

/** Every offset of the run has its record. */
export function isDense(state: State, row: number): boolean {
  const span = state.runs.get(row, RUN.nextOffset) - state.runs.get(row, RUN.firstOffset);
  return state.runs.get(row, RUN.records) === span;
}

/** No offset of the run can be read. A run without offsets at the log start itself still counts. */
export function isBelow(state: State, row: number, firstOffset: number): boolean {
  return state.runs.get(row, RUN.endOffset) <= firstOffset && state.runs.get(row, RUN.firstOffset) < firstOffset;
}
