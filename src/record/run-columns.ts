/**
 * Runs as they cross threads: as numbers of one array. As objects, 10,000 of them take the thread that gets them 8 ms,
 * and the one that sends them as much, and the message a KiB for each.
 */
import type { SegmentRun } from './run.ts';

/** Numbers of a run. */
export const RUN_COLUMNS = 13;

/** A run, and whether it begins with a tracking snapshot. */
export interface TrackedRun extends SegmentRun {
  readonly trackingSnapshot: boolean;
}

export type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };

/** Writes a run from `at` on. */
export function packRun(numbers: Float64Array, at: number, run: SegmentRun, trackingSnapshot: boolean): void {
  numbers[at] = run.streamId;
  numbers[at + 1] = run.firstOffset;
  numbers[at + 2] = run.nextOffset;
  numbers[at + 3] = run.records;
  numbers[at + 4] = run.userBytes;
  numbers[at + 5] = run.trackingBytes;
  numbers[at + 6] = run.firstTimestamp;
  numbers[at + 7] = run.lastTimestamp;
  numbers[at + 8] = run.epoch;
  numbers[at + 9] = run.byteOffset;
  numbers[at + 10] = run.byteLength;
  numbers[at + 11] = run.chunks;
  numbers[at + 12] = trackingSnapshot ? 1 : 0;
}

/** The run from `at` on, a new object, to which callers add what they need: spreading it takes forty times as long. */
export function unpackRun(numbers: Float64Array, at: number): TrackedRun {
  return {
    streamId: numberAt(numbers, at),
    firstOffset: numberAt(numbers, at + 1),
    nextOffset: numberAt(numbers, at + 2),
    records: numberAt(numbers, at + 3),
    userBytes: numberAt(numbers, at + 4),
    trackingBytes: numberAt(numbers, at + 5),
    firstTimestamp: numberAt(numbers, at + 6),
    lastTimestamp: numberAt(numbers, at + 7),
    epoch: numberAt(numbers, at + 8),
    byteOffset: numberAt(numbers, at + 9),
    byteLength: numberAt(numbers, at + 10),
    chunks: numberAt(numbers, at + 11),
    trackingSnapshot: numberAt(numbers, at + 12) === 1,
  };
}

/** The number at `at`, as `small` makes it. */
export function numberAt(numbers: Float64Array, at: number): number {
  return small(numbers[at] as number);
}

/** A number out of an array of doubles is an object of its own, with 16 bytes, where it is not made small. */
export function small(value: number): number {
  const whole = value | 0;
  return whole === value ? whole : value;
}
