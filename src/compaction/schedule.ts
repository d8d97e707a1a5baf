/** In which order a job writes its runs, and what is open at a time. Pure: the executor and the plan go by it. */
import { required } from '../base/assert.ts';
import type { LayoutOutput, LayoutRun } from './layout.ts';

export interface ScheduledRun {
  readonly run: LayoutRun;
  /** Index of its output. */
  readonly output: number;
}

/** All runs of some outputs, one stream at a time, in the order of offsets. */
export function scheduleRuns(outputs: readonly LayoutOutput[], numbers: Iterable<number>): ScheduledRun[][] {
  const placed = [...numbers].flatMap((output) =>
    required(outputs[output], 'an output of the layout').runs.map((run) => {
      const { firstOffset, nextOffset } = required(run.parents[0], 'a run has parents');
      return { firstOffset, nextOffset, item: { run, output } };
    }),
  );
  placed.sort(
    (left, right) =>
      left.item.run.streamId - right.item.run.streamId ||
      left.firstOffset - right.firstOffset ||
      left.nextOffset - right.nextOffset,
  );
  const streams: ScheduledRun[][] = [];
  for (const { item } of placed) {
    const stream = streams.at(-1);
    if (stream?.[0]?.run.streamId === item.run.streamId) stream.push(item);
    else streams.push([item]);
  }
  return streams;
}

/** Outputs that are open, at most: each from its first run to its last one. */
export function openAtOnce(outputs: readonly LayoutOutput[]): number {
  return mostAtOnce(scheduleRuns(outputs, outputs.keys()).flatMap((runs) => runs.map(({ output }) => output)));
}

/** Inputs of which something was read and something is still to be read, at most. */
export function inputsAtOnce(outputs: readonly LayoutOutput[]): number {
  const runs = scheduleRuns(outputs, outputs.keys()).flat();
  return mostAtOnce(runs.flatMap(({ run }) => run.parents.map(({ objectKey }) => objectKey)));
}

/** How many are in use at one place, at most: each from the first place where it stands to the last one. */
function mostAtOnce<T>(uses: readonly T[]): number {
  const lastPlaces = new Map<T, number>();
  for (const [place, used] of uses.entries()) lastPlaces.set(used, place);
  const open = new Set<T>();
  let most = 0;
  for (const [place, used] of uses.entries()) {
    open.add(used);
    most = Math.max(most, open.size);
    if (lastPlaces.get(used) === place) open.delete(used);
  }
  return most;
}
