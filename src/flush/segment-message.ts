/**
 * A flushed segment as it crosses threads: its runs as one array of numbers. As objects, the 10,000 runs of a filling
 * of many streams cost the store's thread 8 ms to receive, and the worker as much to send.
 */
import type { FlushedRun, FlushedSegment } from './flush-job.ts';

export interface PackedSegment extends Omit<FlushedSegment, 'runs'> {
  readonly runs: Float64Array;
}

/** Numbers of a run. */
const COLUMNS = 14;

export function packSegment(segment: FlushedSegment): PackedSegment {
  const runs = new Float64Array(segment.runs.length * COLUMNS);
  let at = 0;
  for (const run of segment.runs) {
    runs[at++] = run.streamId;
    runs[at++] = run.firstOffset;
    runs[at++] = run.nextOffset;
    runs[at++] = run.records;
    runs[at++] = run.userBytes;
    runs[at++] = run.trackingBytes;
    runs[at++] = run.firstTimestamp;
    runs[at++] = run.lastTimestamp;
    runs[at++] = run.epoch;
    runs[at++] = run.byteOffset;
    runs[at++] = run.byteLength;
    runs[at++] = run.chunks;
    runs[at++] = run.trackingSnapshot ? 1 : 0;
    runs[at++] = run.localOffset;
  }
  return { ...segment, runs };
}

export function unpackSegment(packed: PackedSegment): FlushedSegment {
  const { runs: numbers } = packed;
  const runs: FlushedRun[] = [];
  // A number that comes out of the array is an object of its own, with 16 bytes, where it is not made a small one.
  const number = (at: number): number => {
    const value = numbers[at] as number;
    const small = value | 0;
    return small === value ? small : value;
  };
  for (let at = 0; at < numbers.length; at += COLUMNS) {
    runs.push({
      streamId: number(at),
      firstOffset: number(at + 1),
      nextOffset: number(at + 2),
      records: number(at + 3),
      userBytes: number(at + 4),
      trackingBytes: number(at + 5),
      firstTimestamp: number(at + 6),
      lastTimestamp: number(at + 7),
      epoch: number(at + 8),
      byteOffset: number(at + 9),
      byteLength: number(at + 10),
      chunks: number(at + 11),
      trackingSnapshot: number(at + 12) === 1,
      localOffset: number(at + 13),
    });
  }
  return { ...packed, runs };
}
