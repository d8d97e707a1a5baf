/** A run for the coordinator, where only its place in the catalogue matters. */
import type { CommitRun } from '../src/coordinator/coordinator.ts';

export const SAMPLE_RECORDS = 100;
export const SAMPLE_RUN_BYTES = 4_096;

/** The run of the stream with this index from `firstOffset` on, in an object that has a run of every stream. */
export function sampleRunOf(stream: number, firstOffset: number): CommitRun {
  return {
    streamId: stream + 1,
    firstOffset,
    nextOffset: firstOffset + SAMPLE_RECORDS,
    records: SAMPLE_RECORDS,
    userBytes: SAMPLE_RECORDS * 10,
    trackingBytes: 0,
    firstTimestamp: 1,
    lastTimestamp: 1,
    epoch: 0,
    byteOffset: (stream + 1) * SAMPLE_RUN_BYTES,
    byteLength: SAMPLE_RUN_BYTES,
    chunks: 1,
  };
}
