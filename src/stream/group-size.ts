/** Checks the records of one `appendMany`, and bounds from above what they take in the ring. */
import { FRAME_BYTES_TARGET } from '../limits/limits.ts';
import { FRAME_ALIGNMENT, FRAME_HEADER_BYTES, recordBytes } from '../record/frame-format.ts';
import {
  checkRecord,
  checkRecordList,
  checkRecordObject,
  checkTimestamp,
  isBareValue,
  keyBytes,
  type RecordInput,
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
  // Any two neighbouring frames fill more than one target, so this is twice what full frames would need, and more.
  const filled = 2 + Math.ceil((4 * bytes) / FRAME_BYTES_TARGET);
  const frames = latest - earliest > TIMESTAMP_SPREAD_MAX ? filled + records.length : filled;
  return bytes + frames * (FRAME_HEADER_BYTES + context.extensionBytes + FRAME_ALIGNMENT);
}
