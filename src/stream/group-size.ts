/** Checks the records of one call, and bounds from above what they take in the ring. */
import { assert } from '../base/assert.ts';
import { FRAME_BYTES_TARGET } from '../limits/limits.ts';
import { FRAME_ALIGNMENT, FRAME_HEADER_BYTES, recordBytes } from '../record/frame-format.ts';
import type { PackedValues } from '../record/packed-values.ts';
import {
  checkRecord,
  checkRecordList,
  checkRecordObject,
  checkTimestamp,
  isBareValue,
  keyBytes,
  type RecordInput,
  recordTooLarge,
  valueRoom,
} from '../record/record-input.ts';

/** Frames hold timestamps up to 2^31 ms apart; half of that leaves time for a group to wait in a queue. */
const TIMESTAMP_SPREAD_MAX: number = 2 ** 30;

export interface GroupContext {
  readonly maxRecordBytes: number;
  /** The timestamp of records that set none. */
  readonly now: number;
  /** Bytes of the extension that each frame of the group carries. */
  readonly extensionBytes: number;
}

/**
 * An upper bound of the bytes that the records take as frames: with so much room in a block, they all go into it.
 * Throws when a record cannot be taken.
 */
export function measureGroup(records: readonly RecordInput[], context: GroupContext): number {
  checkRecordList(records);
  let bytes = 0;
  let earliest = context.now;
  let latest = context.now;
  for (const record of records) {
    if (isBareValue(record)) {
      checkRecord(record, 0, context.maxRecordBytes);
      bytes += recordBytes(0, valueRoom(record));
      continue;
    }
    checkRecordObject(record);
    const keyLength = keyBytes(record.key)?.length ?? 0;
    checkRecord(record.value, keyLength, context.maxRecordBytes);
    bytes += recordBytes(keyLength, valueRoom(record.value));
    if (record.timestamp === undefined) continue;
    checkTimestamp(record.timestamp);
    earliest = Math.min(earliest, record.timestamp);
    latest = Math.max(latest, record.timestamp);
  }
  return withFrames(bytes, latest - earliest > TIMESTAMP_SPREAD_MAX ? records.length : 0, context);
}

/** As `measureGroup`, of values that lie together. */
export function measurePacked({ bytes, ranges }: PackedValues, context: GroupContext): number {
  let sum = 0;
  for (let at = 0; at < ranges.length; at += 2) {
    const [start, end] = [ranges[at] as number, ranges[at + 1] as number];
    assert(start <= end && end <= bytes.length, 'a value lies in its memory');
    if (end - start > context.maxRecordBytes) throw recordTooLarge(end - start, context.maxRecordBytes);
    sum += recordBytes(0, end - start);
  }
  return withFrames(sum, 0, context);
}

/** `extraFrames`: those that do not begin because one before is full. */
function withFrames(bytes: number, extraFrames: number, context: GroupContext): number {
  // Any two neighbouring frames fill more than one target, so this is twice what full frames would need, and more.
  const frames = 2 + Math.ceil((4 * bytes) / FRAME_BYTES_TARGET) + extraFrames;
  return bytes + frames * (FRAME_HEADER_BYTES + context.extensionBytes + FRAME_ALIGNMENT);
}
