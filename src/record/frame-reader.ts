/** Reads frames. Checked reads serve bytes from disk or network; `walkFrames` visits what lies in a block or chunk. */
import { readInt64, readUint64 } from '../base/bytes.ts';
import { type MillraceError } from '../errors/millrace-error.ts';
import {
  FRAME_ALIGNMENT,
  FRAME_FIELD,
  FRAME_FLAG,
  FRAME_BYTES_MIN,
  FRAME_HEADER_BYTES,
  FRAME_KIND,
  ABSENT,
  paddedRecord,
  RECORD_HEADER_BYTES,
  SPARSE_RECORD_HEADER_BYTES,
} from './frame-format.ts';

export interface FrameHeader {
  readonly frameBytes: number;
  readonly streamId: number;
  readonly firstOffset: number;
  readonly timestamp: number;
  readonly recordCount: number;
  readonly offsetSpan: number;
  readonly epoch: number;
  readonly userBytes: number;
  readonly kind: number;
  readonly flags: number;
  readonly extensionBytes: number;
}

/** Reads a header without judging it. */
export function readFrameHeader(view: DataView, at: number): FrameHeader {
  return {
    frameBytes: view.getUint32(at + FRAME_FIELD.frameBytes, true),
    streamId: view.getUint32(at + FRAME_FIELD.streamId, true),
    firstOffset: readUint64(view, at + FRAME_FIELD.firstOffset),
    timestamp: readInt64(view, at + FRAME_FIELD.timestamp),
    recordCount: view.getUint32(at + FRAME_FIELD.recordCount, true),
    offsetSpan: view.getUint32(at + FRAME_FIELD.offsetSpan, true),
    epoch: view.getUint32(at + FRAME_FIELD.epoch, true),
    userBytes: view.getUint32(at + FRAME_FIELD.userBytes, true),
    kind: view.getUint8(at + FRAME_FIELD.kind),
    flags: view.getUint8(at + FRAME_FIELD.flags),
    extensionBytes: view.getUint16(at + FRAME_FIELD.extensionBytes, true),
  };
}

/** Bytes of a record's header in this frame. */
export function recordHeaderBytes(header: FrameHeader): number {
  return (header.flags & FRAME_FLAG.sparse) === 0 ? RECORD_HEADER_BYTES : SPARSE_RECORD_HEADER_BYTES;
}

/**
 * What is wrong with a header that lies at `at` in bytes that end at `end`; `undefined` when it can be used. Every
 * length is held against the bytes that are there, so that a later walk stays inside them.
 */
export function frameProblem(header: FrameHeader, at: number, end: number): string | undefined {
  const { frameBytes, recordCount, offsetSpan, extensionBytes, kind, flags } = header;
  if (frameBytes < FRAME_BYTES_MIN || frameBytes % FRAME_ALIGNMENT !== 0) return `frame length ${frameBytes}`;
  if (frameBytes > end - at) return `frame length ${frameBytes} where ${end - at} bytes are left`;
  if (Number.isNaN(header.timestamp)) return 'timestamp out of range';
  if (!Number.isSafeInteger(header.firstOffset + offsetSpan)) return 'offset out of range';
  if (kind < FRAME_KIND.records || kind > FRAME_KIND.lost) return `frame kind ${kind}`;
  if ((flags & ~FRAME_FLAG.sparse) !== 0) return `frame flags ${flags}`;
  if (FRAME_HEADER_BYTES + extensionBytes > frameBytes) return `frame extension of ${extensionBytes} bytes`;
  const room = frameBytes - FRAME_HEADER_BYTES - extensionBytes;
  if (recordCount * recordHeaderBytes(header) > room) return `${recordCount} records in ${room} bytes`;
  if (recordCount > offsetSpan) return `${recordCount} records over ${offsetSpan} offsets`;
  const dense = kind === FRAME_KIND.records && (flags & FRAME_FLAG.sparse) === 0;
  if (dense && recordCount !== offsetSpan) return `${recordCount} records over ${offsetSpan} dense offsets`;
  if (kind !== FRAME_KIND.records && recordCount !== 0) return `${recordCount} records in a frame of kind ${kind}`;
  return undefined;
}

/**
 * Visits the frames in [`from`, `to`), until `visit` answers `false`. `corrupt` turns the first problem into the error
 * to throw: the caller knows the file and the place.
 */
export function walkFrames(
  view: DataView,
  from: number,
  to: number,
  corrupt: (problem: string, at: number) => MillraceError,
  visit: (header: FrameHeader, at: number) => unknown,
): void {
  let at = from;
  while (at < to) {
    if (to - at < FRAME_BYTES_MIN) throw corrupt(`${to - at} bytes behind the last frame`, at);
    const header = readFrameHeader(view, at);
    const problem = frameProblem(header, at, to);
    if (problem !== undefined) throw corrupt(problem, at);
    if (visit(header, at) === false) return;
    at += header.frameBytes;
  }
}

/** Smallest and largest record timestamp in a frame that has passed `frameProblem`; `undefined` without records. */
export function frameTimestamps(
  view: DataView,
  at: number,
  header: FrameHeader,
): { first: number; last: number } | undefined {
  if (header.recordCount === 0) return undefined;
  const headerBytes = recordHeaderBytes(header);
  const end = at + header.frameBytes;
  let position = at + FRAME_HEADER_BYTES + header.extensionBytes;
  let least = Infinity;
  let most = -Infinity;
  for (let index = 0; index < header.recordCount && position + headerBytes <= end; index += 1) {
    const valueBytes = view.getUint32(position, true);
    const keyBytes = view.getUint32(position + 4, true);
    const delta = view.getInt32(position + 8, true);
    if (delta < least) least = delta;
    if (delta > most) most = delta;
    const content = (valueBytes === ABSENT ? 0 : valueBytes) + (keyBytes === ABSENT ? 0 : keyBytes);
    position += paddedRecord(headerBytes + content);
  }
  return { first: header.timestamp + least, last: header.timestamp + most };
}
