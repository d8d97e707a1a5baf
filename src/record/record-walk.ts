/** Visits the records of a frame in place: for whoever copies or judges records without handing them out. */
import type { MillraceError } from '../errors/millrace-error.ts';
import { ABSENT, FRAME_FLAG, FRAME_HEADER_BYTES, paddedRecord } from './frame-format.ts';
import { type FrameHeader, recordHeaderBytes } from './frame-reader.ts';

/** Where a record lies. The same object is filled anew for each visit. */
export interface RecordPlace {
  /** In the frame, from 0. */
  index: number;
  /** Offset counted from the frame's first one. */
  delta: number;
  /** Of the record's header. */
  at: number;
  /** Of key and value, one after the other. */
  contentAt: number;
  /** -1 without a key. */
  keyBytes: number;
  /** -1 for a tombstone. */
  valueBytes: number;
  /** Milliseconds; the frame's timestamp is included. */
  timestamp: number;
}

/** Bytes of key and value. */
export function contentBytes({ keyBytes, valueBytes }: RecordPlace): number {
  return Math.max(0, keyBytes) + Math.max(0, valueBytes);
}

/**
 * Visits the records of the frame at `at`, whose header has passed `frameProblem`, until `visit` answers `false`.
 * `corrupt` makes the error for a record that does not fit.
 */
export function walkRecords(
  view: DataView,
  at: number,
  header: FrameHeader,
  corrupt: (problem: string, at: number) => MillraceError,
  visit: (record: RecordPlace) => unknown,
): void {
  const sparse = (header.flags & FRAME_FLAG.sparse) !== 0;
  const headerBytes = recordHeaderBytes(header);
  const end = at + header.frameBytes;
  const place: RecordPlace = { index: 0, delta: -1, at: 0, contentAt: 0, keyBytes: 0, valueBytes: 0, timestamp: 0 };
  let position = at + FRAME_HEADER_BYTES + header.extensionBytes;
  for (let index = 0; index < header.recordCount; index += 1) {
    if (position + headerBytes > end) throw corrupt('a record header outside its frame', position);
    const valueBytes = view.getUint32(position, true);
    const keyBytes = view.getUint32(position + 4, true);
    const delta = sparse ? view.getUint32(position + 12, true) : index;
    if (delta <= place.delta || delta >= header.offsetSpan) throw corrupt('record offsets out of order', position);
    place.index = index;
    place.delta = delta;
    place.at = position;
    place.contentAt = position + headerBytes;
    place.keyBytes = keyBytes === ABSENT ? -1 : keyBytes;
    place.valueBytes = valueBytes === ABSENT ? -1 : valueBytes;
    place.timestamp = header.timestamp + view.getInt32(position + 8, true);
    const recordEnd = place.contentAt + contentBytes(place);
    if (recordEnd > end) throw corrupt(`a record of ${contentBytes(place)} bytes outside its frame`, position);
    if (visit(place) === false) return;
    position += paddedRecord(recordEnd - position);
  }
}
