/** A flushed segment as it crosses threads: its runs as one array of numbers. */
import { type Mutable, numberAt, packRun, RUN_COLUMNS, unpackRun } from '../record/run-columns.ts';
import type { FlushedRun, FlushedSegment } from './flush-job.ts';

export interface PackedSegment extends Omit<FlushedSegment, 'runs'> {
  readonly runs: Float64Array;
}

/** Numbers of a run. */
const COLUMNS: number = RUN_COLUMNS + 1;

export function packSegment(segment: FlushedSegment): PackedSegment {
  const runs = new Float64Array(segment.runs.length * COLUMNS);
  let at = 0;
  for (const run of segment.runs) {
    packRun(runs, at, run, run.trackingSnapshot);
    runs[at + RUN_COLUMNS] = run.localOffset;
    at += COLUMNS;
  }
  return { ...segment, runs };
}

export function unpackSegment(packed: PackedSegment): FlushedSegment {
  const runs: FlushedRun[] = [];
  for (let at = 0; at < packed.runs.length; at += COLUMNS) {
    const run = unpackRun(packed.runs, at) as Mutable<FlushedRun>;
    run.localOffset = numberAt(packed.runs, at + RUN_COLUMNS);
    runs.push(run);
  }
  return { ...packed, runs };
}
