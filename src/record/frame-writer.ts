/**
 * Writes frames into a buffer that the caller sized: one open frame at a time, extended record by record. The hot path
 * of an append runs here, so it works on typed arrays and numbers and allocates nothing.
 */
import { alignUp, copyInto, writeInt64, writeUint64 } from '../base/bytes.ts';
import { ABSENT, FRAME_ALIGNMENT, FRAME_FIELD, FRAME_HEADER_BYTES, paddedRecord } from './frame-format.ts';
import type { FrameKind } from './frame-format.ts';

/** Memory that frames are written to; both arrays cover the same buffer from its start. */
export class FrameMemory {
  readonly bytes: Buffer;
  readonly words: Int32Array;
  readonly view: DataView;

  constructor(buffer: ArrayBuffer | SharedArrayBuffer) {
    this.bytes = Buffer.from(buffer as ArrayBuffer);
    this.words = new Int32Array(buffer, 0, buffer.byteLength >>> 2);
    this.view = new DataView(buffer);
  }
}

/** What a frame's header says, besides its lengths. */
export interface FrameFacts {
  readonly streamId: number;
  readonly firstOffset: number;
  readonly timestamp: number;
  readonly recordCount: number;
  readonly offsetSpan: number;
  readonly epoch: number;
  readonly userBytes: number;
  readonly kind: FrameKind;
  readonly flags: number;
  readonly extensionBytes: number;
}

/**
 * Completes the frame that starts at `at` and whose content ends at `end`: pads it and writes its header. Returns where
 * the next frame may start.
 */
export function finishFrame(memory: FrameMemory, at: number, end: number, facts: FrameFacts): number {
  const { view } = memory;
  const next = at + alignUp(end - at, FRAME_ALIGNMENT);
  // A call of `fill` takes longer than the few bytes, and many streams have a frame for each record.
  for (let index = end; index < next; index += 1) memory.bytes[index] = 0;
  view.setUint32(at + FRAME_FIELD.frameBytes, next - at, true);
  view.setUint32(at + FRAME_FIELD.streamId, facts.streamId, true);
  writeUint64(view, at + FRAME_FIELD.firstOffset, facts.firstOffset);
  writeInt64(view, at + FRAME_FIELD.timestamp, facts.timestamp);
  view.setUint32(at + FRAME_FIELD.recordCount, facts.recordCount, true);
  view.setUint32(at + FRAME_FIELD.offsetSpan, facts.offsetSpan, true);
  view.setUint32(at + FRAME_FIELD.epoch, facts.epoch, true);
  view.setUint32(at + FRAME_FIELD.userBytes, facts.userBytes, true);
  view.setUint8(at + FRAME_FIELD.kind, facts.kind);
  view.setUint8(at + FRAME_FIELD.flags, facts.flags);
  view.setUint16(at + FRAME_FIELD.extensionBytes, facts.extensionBytes, true);
  return next;
}

/** Where a frame's first record goes. */
export function frameContentStart(at: number, extensionBytes: number): number {
  return at + FRAME_HEADER_BYTES + extensionBytes;
}

/**
 * Writes one record at `at` (4 off a multiple of 8) and returns its end. `key` and `value` are bytes, or `null` for
 * none. The caller made sure that `recordBytes` of room are there.
 */
export function writeRecord(
  memory: FrameMemory,
  at: number,
  key: Uint8Array | null,
  value: Uint8Array | null,
  timestampDelta: number,
): number {
  const { words, bytes } = memory;
  const word = at >>> 2;
  words[word] = value === null ? ABSENT : value.length;
  words[word + 1] = key === null ? ABSENT : key.length;
  words[word + 2] = timestampDelta;
  let end = at + 12;
  if (key !== null) {
    copyInto(bytes, end, key);
    end += key.length;
  }
  if (value !== null) {
    copyInto(bytes, end, value);
    end += value.length;
  }
  return padRecord(bytes, at, end);
}

/** Zeroes up to the next record: leftover bytes of an older filling would make equal records differ. */
function padRecord(bytes: Uint8Array, at: number, end: number): number {
  const padded = at + paddedRecord(end - at);
  for (let index = end; index < padded; index += 1) bytes[index] = 0;
  return padded;
}

/** As `writeRecord` for a string value: encodes straight into place. `room` is the bytes that may be written. */
export function writeTextRecord(
  memory: FrameMemory,
  at: number,
  key: Uint8Array | null,
  value: string,
  timestampDelta: number,
): number {
  const { words, bytes } = memory;
  const word = at >>> 2;
  let end = at + 12;
  if (key !== null) {
    copyInto(bytes, end, key);
    end += key.length;
  }
  const valueBytes = bytes.write(value, end, 'utf8');
  words[word] = valueBytes;
  words[word + 1] = key === null ? ABSENT : key.length;
  words[word + 2] = timestampDelta;
  return padRecord(bytes, at, end + valueBytes);
}
