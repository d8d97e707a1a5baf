/** Changes to the run list of a stream, and the searches in it. */
import { assert } from '../../base/assert.ts';
import type { StreamRow } from './rows.ts';
import { countTracking, countVisible, isBelow, killRun } from './run-links.ts';
import { RUN } from './run-table.ts';
import type { State } from './state.ts';

/** Puts a run at the end, where it moves the high watermark. */
export function appendRun(state: State, stream: StreamRow, row: number): void {
  assert(state.runs.get(row, RUN.firstOffset) === stream.nextOffset, 'a run begins at the high watermark');
  stream.runs.push(row);
  stream.nextOffset = state.runs.get(row, RUN.endOffset);
  stream.epoch = Math.max(stream.epoch, state.runs.get(row, RUN.epoch));
  countTracking(state, stream, row, 1);
  countVisible(state, stream, row, 1);
  releaseHeld(state, stream);
}

/** The number of runs at the front, of those not held, that a log start at `firstOffset` makes unreadable. */
export function countBelow(state: State, stream: StreamRow, firstOffset: number): number {
  let low = stream.heldRuns;
  let high = stream.runs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBelow(state, stream.runs.at(middle), firstOffset)) low = middle + 1;
    else high = middle;
  }
  return low - stream.heldRuns;
}

/** The index of the first run that reaches beyond `offset`. */
export function indexBeyond(state: State, stream: StreamRow, offset: number): number {
  let low = 0;
  let high = stream.runs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (state.runs.get(stream.runs.at(middle), RUN.endOffset) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of a live run in its stream. */
export function indexOf(state: State, stream: StreamRow, row: number): number {
  const firstOffset = state.runs.get(row, RUN.firstOffset);
  let low = 0;
  let high = stream.runs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (state.runs.get(stream.runs.at(middle), RUN.firstOffset) < firstOffset) low = middle + 1;
    else high = middle;
  }
  // Runs that cover no offset share their first offset with the run behind them.
  while (stream.runs.at(low) !== row) low += 1;
  return low;
}

/**
 * The index of the first run whose tracking is needed: the newest one with a snapshot, else the oldest one with any
 * tracking. The length of the list when there is none.
 */
export function trackingAnchor(state: State, stream: StreamRow): number {
  const { runs } = state;
  if (stream.trackingRuns === 0 && stream.snapshotRuns === 0) return stream.runs.length;
  if (stream.snapshotRuns > 0) {
    let index = stream.runs.length - 1;
    while (runs.get(stream.runs.at(index), RUN.snapshot) === 0) index -= 1;
    return index;
  }
  let index = 0;
  while (runs.get(stream.runs.at(index), RUN.trackingBytes) === 0) index += 1;
  return index;
}

/** Moves the log start: runs wholly below are held, and those among them that no tracking needs die. */
export function trimRuns(state: State, stream: StreamRow, firstOffset: number): void {
  assert(
    firstOffset >= stream.firstOffset && firstOffset <= stream.nextOffset,
    'a log start moves up to the watermark',
  );
  const below = countBelow(state, stream, firstOffset);
  stream.firstOffset = firstOffset;
  for (let count = 0; count < below; count += 1) {
    const row = stream.runs.at(stream.heldRuns);
    countVisible(state, stream, row, -1);
    wantRewrite(state, stream, row);
    stream.heldRuns += 1;
    stream.heldBytes += state.runs.get(row, RUN.byteLength);
  }
  if (stream.heldRuns < stream.runs.length) {
    const row = stream.runs.at(stream.heldRuns);
    if (state.runs.get(row, RUN.firstOffset) < firstOffset) wantRewrite(state, stream, row);
  }
  releaseHeld(state, stream);
}

/** Held runs in front of the tracking anchor die. */
export function releaseHeld(state: State, stream: StreamRow): void {
  if (stream.heldRuns === 0) return;
  const count = Math.min(stream.heldRuns, trackingAnchor(state, stream));
  for (let index = 0; index < count; index += 1) {
    const row = stream.runs.at(index);
    stream.heldBytes -= state.runs.get(row, RUN.byteLength);
    countTracking(state, stream, row, -1);
    killRun(state, row);
  }
  stream.runs.shift(count);
  stream.heldRuns -= count;
}

/** Moves the high watermark down: later runs die, a run across it ends there. */
export function truncateRuns(state: State, stream: StreamRow, nextOffset: number): void {
  assert(nextOffset >= stream.firstOffset && nextOffset <= stream.nextOffset, 'a truncation stays above the log start');
  const { runs } = state;
  while (stream.runs.length > stream.heldRuns) {
    const row = stream.runs.at(stream.runs.length - 1);
    if (runs.get(row, RUN.endOffset) <= nextOffset) break;
    countVisible(state, stream, row, -1);
    wantRewrite(state, stream, row);
    if (runs.get(row, RUN.firstOffset) < nextOffset) {
      runs.set(row, RUN.endOffset, nextOffset);
      countVisible(state, stream, row, 1);
      break;
    }
    countTracking(state, stream, row, -1);
    stream.runs.pop();
    killRun(state, row);
  }
  stream.nextOffset = nextOffset;
  // A run that both the log start and the truncation cut may have nothing readable left.
  trimRuns(state, stream, stream.firstOffset);
}

/** All runs die with their stream. */
export function dropRuns(state: State, stream: StreamRow): void {
  for (let index = 0; index < stream.runs.length; index += 1) {
    const row = stream.runs.at(index);
    wantRewrite(state, stream, row);
    killRun(state, row);
  }
  stream.runs.shift(stream.runs.length);
}

/** Bytes of the run have died: its stream's deletion deadline starts to run for its object. */
function wantRewrite(state: State, stream: StreamRow, row: number): void {
  const { deletionDeadline } = stream.config;
  if (deletionDeadline === undefined) return;
  const object = state.object(state.runs.get(row, RUN.objectNumber));
  object.rewriteBy = Math.min(object.rewriteBy ?? Infinity, state.now + deletionDeadline);
}
