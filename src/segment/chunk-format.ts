/**
 * A chunk: records of one stream, or its tracking; the unit of compression, checksum and addressing. It describes
 * itself, so that runs can be read without the segment's footer. See `docs/formats/segment.md`.
 *
 * ```
 *   0 checksum u64        xxh64 of bytes [8, end of the chunk), padding included, XOR the hash of the object key
 *   8 magic u32           "MRCK"
 *  12 version u16
 *  14 type u8, codec u8
 *  16 flags u32
 *  20 stream id u32
 *  24 first offset u64    of the stream; relative: counted from the first offset of the run
 *  32 frame base i64      added to the offsets inside the frames; relative: and so is the run's first offset
 *  40 record count u32
 *  44 offset span u32     offsets covered: record count, or more when some have no record; 0 for tracking
 *  48 first timestamp i64 smallest; 0 without records
 *  56 last timestamp i64  largest; 0 without records
 *  64 epoch u32           highest of its frames
 *  68 user bytes u32      keys and values
 *  72 raw bytes u32       the body uncompressed
 *  76 stored bytes u32    the body as it follows here
 *  80 trailer bytes u32   never compressed
 *  84 reserved u32        0
 *  88 body, trailer, zeros up to a multiple of 8
 * ```
 */
import { alignUp, readInt64, readUint64, writeInt64, writeUint64 } from '../base/bytes.ts';
import { CODEC, isCodec } from '../codec/compression.ts';
import { CHUNK_OFFSETS_MAX, CHUNK_RAW_BYTES_MAX, CHUNK_TRAILER_BYTES_MAX } from '../limits/limits.ts';
import { FRAME_ALIGNMENT, FRAME_HEADER_BYTES, RECORD_HEADER_BYTES } from '../record/frame-format.ts';

export const CHUNK_MAGIC = 0x4b43524d;
export const CHUNK_VERSION = 1;
export const CHUNK_HEADER_BYTES = 88;
/** Chunks begin at multiples of this, so that the frames of an uncompressed body are aligned in the file. */
export const CHUNK_ALIGNMENT = 8;
/** The checksum covers everything from here to the end of the chunk. */
export const CHUNK_CHECKED_FROM = 8;

/** What a chunk carries. */
export const CHUNK_TYPE = {
  /** User records in the body; tracking, if any, in the trailer. */
  records: 1,
  /** Changes of tracking in the body: written only when a run has no records to carry them in a trailer. */
  trackingDelta: 2,
  /** The whole tracking state in the body: nothing older is needed. */
  trackingSnapshot: 3,
} as const;
export type ChunkType = (typeof CHUNK_TYPE)[keyof typeof CHUNK_TYPE];

/** Chunk flags. */
export const CHUNK_FLAG = {
  /** Offsets count from the first offset of the run, which only the coordinator knows. */
  relative: 1,
} as const;

export const CHUNK_FIELD = {
  checksum: 0,
  magic: 8,
  version: 12,
  type: 14,
  codec: 15,
  flags: 16,
  streamId: 20,
  firstOffset: 24,
  frameBase: 32,
  recordCount: 40,
  offsetSpan: 44,
  firstTimestamp: 48,
  lastTimestamp: 56,
  epoch: 64,
  userBytes: 68,
  rawBytes: 72,
  storedBytes: 76,
  trailerBytes: 80,
  reserved: 84,
} as const;

/** What a header says about its chunk, apart from checksum, magic and version. */
export interface ChunkHeader {
  readonly type: number;
  readonly codec: number;
  readonly flags: number;
  readonly streamId: number;
  readonly firstOffset: number;
  readonly frameBase: number;
  readonly recordCount: number;
  readonly offsetSpan: number;
  readonly firstTimestamp: number;
  readonly lastTimestamp: number;
  readonly epoch: number;
  readonly userBytes: number;
  readonly rawBytes: number;
  readonly storedBytes: number;
  readonly trailerBytes: number;
  /** Always 0. */
  readonly reserved: number;
}

/** Writes a header without its checksum at `at`. */
export function writeChunkHeader(view: DataView, at: number, header: ChunkHeader): void {
  view.setUint32(at + CHUNK_FIELD.magic, CHUNK_MAGIC, true);
  view.setUint16(at + CHUNK_FIELD.version, CHUNK_VERSION, true);
  view.setUint8(at + CHUNK_FIELD.type, header.type);
  view.setUint8(at + CHUNK_FIELD.codec, header.codec);
  view.setUint32(at + CHUNK_FIELD.flags, header.flags, true);
  view.setUint32(at + CHUNK_FIELD.streamId, header.streamId, true);
  writeUint64(view, at + CHUNK_FIELD.firstOffset, header.firstOffset);
  writeInt64(view, at + CHUNK_FIELD.frameBase, header.frameBase);
  view.setUint32(at + CHUNK_FIELD.recordCount, header.recordCount, true);
  view.setUint32(at + CHUNK_FIELD.offsetSpan, header.offsetSpan, true);
  writeInt64(view, at + CHUNK_FIELD.firstTimestamp, header.firstTimestamp);
  writeInt64(view, at + CHUNK_FIELD.lastTimestamp, header.lastTimestamp);
  view.setUint32(at + CHUNK_FIELD.epoch, header.epoch, true);
  view.setUint32(at + CHUNK_FIELD.userBytes, header.userBytes, true);
  view.setUint32(at + CHUNK_FIELD.rawBytes, header.rawBytes, true);
  view.setUint32(at + CHUNK_FIELD.storedBytes, header.storedBytes, true);
  view.setUint32(at + CHUNK_FIELD.trailerBytes, header.trailerBytes, true);
  view.setUint32(at + CHUNK_FIELD.reserved, header.reserved, true);
}

/** Reads a header without judging it. */
export function readChunkHeader(view: DataView, at: number): ChunkHeader {
  return {
    type: view.getUint8(at + CHUNK_FIELD.type),
    codec: view.getUint8(at + CHUNK_FIELD.codec),
    flags: view.getUint32(at + CHUNK_FIELD.flags, true),
    streamId: view.getUint32(at + CHUNK_FIELD.streamId, true),
    firstOffset: readUint64(view, at + CHUNK_FIELD.firstOffset),
    frameBase: readInt64(view, at + CHUNK_FIELD.frameBase),
    recordCount: view.getUint32(at + CHUNK_FIELD.recordCount, true),
    offsetSpan: view.getUint32(at + CHUNK_FIELD.offsetSpan, true),
    firstTimestamp: readInt64(view, at + CHUNK_FIELD.firstTimestamp),
    lastTimestamp: readInt64(view, at + CHUNK_FIELD.lastTimestamp),
    epoch: view.getUint32(at + CHUNK_FIELD.epoch, true),
    userBytes: view.getUint32(at + CHUNK_FIELD.userBytes, true),
    rawBytes: view.getUint32(at + CHUNK_FIELD.rawBytes, true),
    storedBytes: view.getUint32(at + CHUNK_FIELD.storedBytes, true),
    trailerBytes: view.getUint32(at + CHUNK_FIELD.trailerBytes, true),
    reserved: view.getUint32(at + CHUNK_FIELD.reserved, true),
  };
}

/** The bytes a chunk occupies: header, body, trailer and padding. */
export function chunkBytes(storedBytes: number, trailerBytes: number): number {
  return alignUp(CHUNK_HEADER_BYTES + storedBytes + trailerBytes, CHUNK_ALIGNMENT);
}

/** Stored bytes that serve tracking: all of a tracking chunk, the trailer of a records chunk. */
export function trackingBytesOf(header: ChunkHeader): number {
  if (header.type === CHUNK_TYPE.records) return header.trailerBytes;
  return chunkBytes(header.storedBytes, header.trailerBytes);
}

/**
 * What is wrong with a header whose chunk has `room` bytes at most; `undefined` when its lengths can be believed and
 * its fields do not contradict each other.
 */
export function chunkProblem(header: ChunkHeader, room: number): string | undefined {
  return lengthProblem(header, room) ?? contentProblem(header);
}

function lengthProblem(header: ChunkHeader, room: number): string | undefined {
  const { codec, rawBytes, storedBytes, trailerBytes } = header;
  if (!isCodec(codec)) return `unknown codec ${codec}`;
  if (rawBytes > CHUNK_RAW_BYTES_MAX) return `a body of ${rawBytes} bytes, above the bound of ${CHUNK_RAW_BYTES_MAX}`;
  if (trailerBytes > CHUNK_TRAILER_BYTES_MAX) {
    return `a trailer of ${trailerBytes} bytes, above the bound of ${CHUNK_TRAILER_BYTES_MAX}`;
  }
  // A writer keeps a body as it is unless compression makes it smaller.
  const plausible = codec === CODEC.none ? storedBytes === rawBytes : storedBytes < rawBytes;
  if (!plausible) return `${storedBytes} stored bytes for ${rawBytes} raw ones with codec ${codec}`;
  const bytes = chunkBytes(storedBytes, trailerBytes);
  return bytes > room ? `a chunk of ${bytes} bytes where ${room} are left` : undefined;
}

function contentProblem(header: ChunkHeader): string | undefined {
  const { type, flags, firstOffset, recordCount, offsetSpan, firstTimestamp, lastTimestamp, rawBytes } = header;
  if ((flags & ~CHUNK_FLAG.relative) !== 0) return `unknown flags ${flags}`;
  if (header.reserved !== 0) return `${header.reserved} in its reserved field`;
  if (!Number.isSafeInteger(firstOffset + offsetSpan)) return 'offsets above 2^53 - 1';
  if (offsetSpan > CHUNK_OFFSETS_MAX) return `${offsetSpan} offsets, above the bound of ${CHUNK_OFFSETS_MAX}`;
  if (Number.isNaN(header.frameBase)) return 'a frame base outside the safe integers';
  if (recordCount > offsetSpan) return `${recordCount} records over ${offsetSpan} offsets`;
  if (!(firstTimestamp <= lastTimestamp)) return `timestamps from ${firstTimestamp} to ${lastTimestamp}`;
  if (recordCount === 0 && (firstTimestamp !== 0 || lastTimestamp !== 0 || header.userBytes !== 0)) {
    return 'timestamps or user bytes without records';
  }
  if (type === CHUNK_TYPE.records) {
    if (rawBytes % FRAME_ALIGNMENT !== 0) return `a body of ${rawBytes} bytes, which is not whole frames`;
    if (header.userBytes > rawBytes) return `${header.userBytes} user bytes in a body of ${rawBytes}`;
    const least = recordCount === 0 ? 0 : FRAME_HEADER_BYTES + recordCount * RECORD_HEADER_BYTES;
    return rawBytes < least ? `${recordCount} records in ${rawBytes} bytes` : undefined;
  }
  if (type !== CHUNK_TYPE.trackingDelta && type !== CHUNK_TYPE.trackingSnapshot) return `unknown chunk type ${type}`;
  if (offsetSpan !== 0 || header.trailerBytes !== 0) return 'offsets or a trailer in a tracking chunk';
  return undefined;
}
