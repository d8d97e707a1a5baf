/**
 * Swapping runs for the runs that a job wrote from them. Planned as a whole per stream, without changing anything, so
 * that the same plan first decides whether a commit is sound and then carries it out.
 */
import { small } from '../../record/run-columns.ts';
import type { ReplacingRun, RunKey } from './event.ts';
import type { ObjectRow, StreamRow } from './rows.ts';
import { countTracking, countVisible, isBelow, killRun } from './run-links.ts';
import { NO_ROW, RUN } from './run-table.ts';
import type { State } from './state.ts';
import { indexOf, releaseHeld } from './stream-runs.ts';

/** One output run and the live rows it takes the place of, in stream order. */
export interface Replacement {
  readonly run: ReplacingRun;
  readonly parents: readonly number[];
}

/** What a job does to one stream. */
export interface StreamReplacement {
  readonly stream: StreamRow;
  readonly replacements: readonly Replacement[];
  readonly dropped: readonly number[];
}

/** A place in the new stretch of the list: a run that stays, or the place of a replacement. */
export type StretchItem = number | Replacement;

/** The part of a stream's list that changes. */
export interface Stretch {
  readonly from: number;
  readonly count: number;
  readonly items: readonly StretchItem[];
}

/** The live runs of an object, in the order of their bytes. */
export function* rowsOf(state: State, object: ObjectRow): Generator<number> {
  for (let row = object.firstRun; row !== NO_ROW; row = state.runs.get(row, RUN.nextInObject)) yield row;
}

function rowsByPlace(state: State, object: ObjectRow): Map<number, number> {
  const rows = new Map<number, number>();
  for (const row of rowsOf(state, object)) rows.set(small(state.runs.get(row, RUN.byteOffset)), small(row));
  return rows;
}

/** Finds rows by key, reading each object's list once. */
export class RowFinder {
  readonly #state: State;
  readonly #objects: Map<number, Map<number, number>> = new Map();

  constructor(state: State) {
    this.#state = state;
  }

  /** The live row, or `undefined` when the run has died. */
  find(key: RunKey): number | undefined {
    let rows = this.#objects.get(key.objectNumber);
    if (rows === undefined) {
      const object = this.#state.objects.get(key.objectNumber);
      rows = object === undefined ? new Map<number, number>() : rowsByPlace(this.#state, object);
      this.#objects.set(key.objectNumber, rows);
    }
    return rows.get(key.byteOffset);
  }
}

/**
 * Lays out the list between the first and the last row that changes. Returns a sentence instead when the rows do not
 * follow each other as they must.
 */
export function layOutStretch(state: State, plan: StreamReplacement): Stretch | string {
  const heads = new Map<number, Replacement>();
  const removed = new Set<number>(plan.dropped);
  for (const replacement of plan.replacements) {
    heads.set(replacement.parents[0] as number, replacement);
    for (const row of replacement.parents) removed.add(row);
  }
  let from = Infinity;
  let to = -1;
  for (const row of removed) {
    const index = indexOf(state, plan.stream, row);
    from = Math.min(from, index);
    to = Math.max(to, index);
  }
  const items: StretchItem[] = [];
  for (let index = from; index <= to; index += 1) {
    const row = plan.stream.runs.at(index);
    const replacement = heads.get(row);
    if (replacement !== undefined) {
      for (const [step, parent] of replacement.parents.entries()) {
        if (index + step > to || plan.stream.runs.at(index + step) !== parent) {
          return `the parents of the run at offset ${replacement.run.firstOffset} do not follow each other`;
        }
      }
      index += replacement.parents.length - 1;
      items.push(replacement);
    } else if (!removed.has(row)) {
      items.push(row);
    }
  }
  return { from, count: to - from + 1, items };
}

/** The offset at which readers stop in a replacing run: where its last live parent ended. */
export function endOfReplacement(state: State, replacement: Replacement): number {
  return state.runs.get(replacement.parents[replacement.parents.length - 1] as number, RUN.endOffset);
}

/** Carries a stretch out. `rowOf` has made the rows of the replacing runs. */
export function replaceStretch(
  state: State,
  plan: StreamReplacement,
  stretch: Stretch,
  rowOf: (replacement: Replacement) => number,
): void {
  const { stream } = plan;
  const kept = new Set<number>();
  const rows: number[] = [];
  for (const item of stretch.items) {
    if (typeof item === 'number') kept.add(item);
    rows.push(typeof item === 'number' ? item : rowOf(item));
  }
  const dying: number[] = [];
  for (let index = stretch.from; index < stretch.from + stretch.count; index += 1) {
    const row = stream.runs.at(index);
    if (kept.has(row)) continue;
    if (index >= stream.heldRuns) countVisible(state, stream, row, -1);
    countTracking(state, stream, row, -1);
    dying.push(row);
  }
  stream.runs.replace(stretch.from, stretch.count, rows);
  for (const row of rows) {
    if (kept.has(row)) continue;
    countTracking(state, stream, row, 1);
    if (!isBelow(state, row, stream.firstOffset)) countVisible(state, stream, row, 1);
  }
  for (const row of dying) killRun(state, row);
  countHeld(state, stream);
  releaseHeld(state, stream);
}

/** Counts the held runs anew: a job may have merged, dropped or shortened them. */
function countHeld(state: State, stream: StreamRow): void {
  stream.heldRuns = 0;
  stream.heldBytes = 0;
  while (stream.heldRuns < stream.runs.length) {
    const row = stream.runs.at(stream.heldRuns);
    if (!isBelow(state, row, stream.firstOffset)) break;
    stream.heldRuns += 1;
    stream.heldBytes += state.runs.get(row, RUN.byteLength);
  }
}
