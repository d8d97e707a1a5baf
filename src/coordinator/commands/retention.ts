/** Which runs the streams' retention no longer keeps. */
import type { RetentionResult, Trimmed } from '../coordinator.ts';
import type { StateEvent } from '../state/event.ts';
import type { StreamRow } from '../state/rows.ts';
import { RUN } from '../state/run-table.ts';
import type { State } from '../state/state.ts';
import { checkInteger } from './checks.ts';
import { decide, findStreamRow, type Decision } from './decision.ts';
import { dyingRuns } from './stream-commands.ts';

/** Bounds how long one call keeps other commands waiting. */
export const RETENTION_RUNS_DEFAULT = 10_000;

export function enforceRetention(
  state: State,
  streamId: number | undefined,
  limits: { readonly maxRuns?: number },
): Decision<RetentionResult> {
  const { maxRuns = RETENTION_RUNS_DEFAULT } = limits;
  checkInteger(maxRuns, 'maxRuns', 1);
  const targets = streamId === undefined ? state.streams.values() : [findStreamRow(state, streamId)];
  const events: StateEvent[] = [];
  const streams: (Trimmed & { readonly streamId: number })[] = [];
  let budget = maxRuns;
  let more = false;
  for (const stream of targets) {
    const { runs, taken, done } = expiredRuns(state, stream, budget);
    more ||= !done;
    budget -= taken;
    if (runs === 0) continue;
    const firstOffset = state.runs.get(stream.runs.at(stream.heldRuns + runs - 1), RUN.endOffset);
    // Runs without offsets share their first offset with the next one: skipping them moves nothing.
    if (firstOffset <= stream.firstOffset) continue;
    events.push({ type: 'streamTrimmed', streamId: stream.streamId, firstOffset });
    streams.push({ streamId: stream.streamId, ...dyingRuns(state, stream, firstOffset) });
  }
  return decide({ streams, more }, ...events);
}

/**
 * Counts the readable runs at the front that may go; those `taken` among them cover offsets, up to `budget`. `done`
 * says that no more would.
 */
function expiredRuns(
  state: State,
  stream: StreamRow,
  budget: number,
): { readonly runs: number; readonly taken: number; readonly done: boolean } {
  const { maxBytes = Infinity, maxAge = Infinity } = stream.config.retention;
  if (maxBytes === Infinity && maxAge === Infinity) return { runs: 0, taken: 0, done: true };
  const newest = newestWithOffsets(state, stream);
  let rest = stream.userBytes;
  let index = stream.heldRuns;
  let taken = 0;
  for (; index <= newest; index += 1) {
    const row = stream.runs.at(index);
    rest -= state.runs.get(row, RUN.userBytes);
    const hasRecords = state.runs.get(row, RUN.records) > 0;
    const expired = hasRecords && state.runs.get(row, RUN.lastTimestamp) < state.now - maxAge;
    // Age takes the newest run too: nothing may ever follow it. Bytes do not, or a tiny limit would keep nothing.
    if (index === newest && !expired) break;
    // A run without records is no reason to stop, nor is it one to go on: what follows it decides.
    if (hasRecords && !expired && rest < maxBytes) break;
    if (!coversOffsets(state, row)) continue;
    if (taken === budget) return { runs: index - stream.heldRuns, taken, done: false };
    taken += 1;
  }
  return { runs: index - stream.heldRuns, taken, done: true };
}

/** The index of the newest run that covers an offset; below the first readable one when there is none. */
function newestWithOffsets(state: State, stream: StreamRow): number {
  let index = stream.runs.length - 1;
  while (index >= stream.heldRuns) {
    if (coversOffsets(state, stream.runs.at(index))) return index;
    index -= 1;
  }
  return index;
}

/** A run without offsets goes with the one behind it, and uses nothing of a limit. */
export function coversOffsets(state: State, row: number): boolean {
  return state.runs.get(row, RUN.endOffset) > state.runs.get(row, RUN.firstOffset);
}
