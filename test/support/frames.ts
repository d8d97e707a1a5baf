/** Frames for tests, written by the writer of the engine; sparse ones by hand, as only compaction makes them. */
import { viewOf } from '../../src/base/bytes.ts';
import {
  ABSENT,
  FRAME_FLAG,
  FRAME_KIND,
  paddedRecord,
  SPARSE_RECORD_HEADER_BYTES,
} from '../../src/record/frame-format.ts';
import { finishFrame, frameContentStart, FrameMemory, writeRecord } from '../../src/record/frame-writer.ts';

export interface FrameRecord {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly timestamp: number;
  /** Offsets without a record in front of this one: any makes the frame sparse. */
  readonly skipped?: number;
}

export interface FrameIdentity {
  readonly streamId: number;
  readonly firstOffset: number;
  readonly epoch: number;
}

const DEFAULT: FrameIdentity = { streamId: 1, firstOffset: 0, epoch: 0 };

/** One frame. Its timestamp is that of the first record. */
export function encodeFrame(records: readonly FrameRecord[], identity: Partial<FrameIdentity> = {}): Uint8Array {
  const content = records.reduce((sum, { key, value }) => sum + (key?.length ?? 0) + (value?.length ?? 0), 0);
  const memory = new FrameMemory(new ArrayBuffer(128 + content + 24 * records.length));
  // What was there before must not shine through.
  memory.bytes.fill(0xaa);
  const timestamp = records[0]?.timestamp ?? 0;
  const sparse = records.some(({ skipped }) => (skipped ?? 0) > 0);
  let position = frameContentStart(0, 0);
  let delta = 0;
  for (const { key, value, timestamp: own, skipped } of records) {
    delta += skipped ?? 0;
    position = sparse
      ? writeSparseRecord(memory, position, key, value, own - timestamp, delta)
      : writeRecord(memory, position, key, value, own - timestamp);
    delta += 1;
  }
  const end = finishFrame(memory, 0, position, {
    ...DEFAULT,
    ...identity,
    timestamp,
    recordCount: records.length,
    offsetSpan: delta,
    userBytes: content,
    kind: FRAME_KIND.records,
    flags: sparse ? FRAME_FLAG.sparse : 0,
    extensionBytes: 0,
  });
  return new Uint8Array(memory.bytes.subarray(0, end));
}

function writeSparseRecord(
  memory: FrameMemory,
  at: number,
  key: Uint8Array | null,
  value: Uint8Array | null,
  timestampDelta: number,
  offsetDelta: number,
): number {
  const view = viewOf(memory.bytes);
  view.setUint32(at, value === null ? ABSENT : value.length, true);
  view.setUint32(at + 4, key === null ? ABSENT : key.length, true);
  view.setInt32(at + 8, timestampDelta, true);
  view.setUint32(at + 12, offsetDelta, true);
  let end = at + SPARSE_RECORD_HEADER_BYTES;
  for (const part of [key, value]) {
    if (part === null) continue;
    memory.bytes.set(part, end);
    end += part.length;
  }
  const padded = at + paddedRecord(end - at);
  memory.bytes.fill(0, end, padded);
  return padded;
}
