/**
 * A segment: the chunks of many streams, grouped into runs. See `docs/formats/segment.md`.
 *
 * ```
 * header 64 B · runs, ordered by (stream id, first offset) · zeros · footer · tail 32 B
 * footer = footer header 64 B · run table, 112 B a run · chunk index, 32 B a chunk
 * ```
 *
 * The zeros make the whole length a multiple of 4,096, because segments are written with direct I/O. They lie in front
 * of the footer, so that the end of the file is the end of the tail and one read of the last bytes opens the segment.
 * The chunk index repeats every chunk's checksum: the footer's checksum therefore covers the whole segment.
 *
 * ```
 * header                      footer header               tail
 *   0 checksum u64 of [8,64)    0 magic u32 "MRFT"          0 footer position u64
 *   8 magic u32 "MRSG"          4 version u16               8 footer bytes u32, without the tail
 *  12 version u16               6 reserved u16 0           12 version u16
 *  14 reserved u16 0            8 store id 16 B            14 reserved u16 0
 *  16 store id 16 B            24 object key hash u64      16 checksum u64 of footer and tail [0,16)
 *  32 object key hash u64      32 created at i64           24 reserved u32 0
 *  40 created at i64           40 runs u32                 28 magic u32 "MREN"
 *  48 reserved 16 B 0          44 chunks u32
 *                              48 runs end u64
 *                              56 reserved 8 B 0
 *
 * run                                             chunk index entry
 *   0 stream id u32                                 0 position u64
 *   4 chunks u32                                    8 first offset u64
 *   8 first offset u64                             16 latest timestamp i64: the largest in the run up to
 *  16 next offset u64                                 and with this chunk; NO_TIMESTAMP before any record
 *  24 position u64       of its first chunk        24 checksum u64 of the chunk
 *  32 bytes u64          of its chunks
 *  40 records u64
 *  48 user bytes u64
 *  56 tracking bytes u64
 *  64 first timestamp i64
 *  72 last timestamp i64
 *  80 epoch u32
 *  84 flags u32          1: relative
 *  88 dead record bytes u64
 *  96 dead tracking bytes u64
 * 104 first chunk u32    its index in the chunk index
 * 108 reserved u32 0
 * ```
 */
import { xxh64 } from '../codec/checksum.ts';
import type { SegmentRun } from '../record/run.ts';

export const SEGMENT_MAGIC = 0x4753524d;
export const FOOTER_MAGIC = 0x5446524d;
export const TAIL_MAGIC = 0x4e45524d;
export const SEGMENT_VERSION = 1;
export const STORE_ID_BYTES = 16;

export const SEGMENT_HEADER_BYTES = 64;
export const FOOTER_HEADER_BYTES = 64;
export const RUN_BYTES = 112;
export const INDEX_ENTRY_BYTES = 32;
export const TAIL_BYTES = 32;

/** One read of this many bytes at the end opens most segments. */
export const TAIL_READ_BYTES: number = 64 * 1024;
/** Of a large segment that one read is a larger part: an index entry for every 16 KiB, as full chunks of JSON take. */
export const TAIL_READ_DIVISOR = 384;

/** As the latest timestamp of an index entry: no record so far. */
export const NO_TIMESTAMP: number = Number.MIN_SAFE_INTEGER;

export const HEADER_FIELD = {
  checksum: 0,
  magic: 8,
  version: 12,
  reserved: 14,
  storeId: 16,
  objectKeyHash: 32,
  createdAt: 40,
  lastReserved: 48,
} as const;
/** The header's checksum covers everything from here to its end. */
export const HEADER_CHECKED_FROM = 8;

export const FOOTER_FIELD = {
  magic: 0,
  version: 4,
  reserved: 6,
  storeId: 8,
  objectKeyHash: 24,
  createdAt: 32,
  runs: 40,
  chunks: 44,
  runsEnd: 48,
  lastReserved: 56,
} as const;

export const TAIL_FIELD = {
  footerPosition: 0,
  footerBytes: 8,
  version: 12,
  reserved: 14,
  checksum: 16,
  lastReserved: 24,
  magic: 28,
} as const;
/** The footer's checksum covers the footer and the tail up to here. */
export const TAIL_CHECKED_TO: number = TAIL_FIELD.checksum;

export const RUN_FIELD = {
  streamId: 0,
  chunks: 4,
  firstOffset: 8,
  nextOffset: 16,
  byteOffset: 24,
  byteLength: 32,
  records: 40,
  userBytes: 48,
  trackingBytes: 56,
  firstTimestamp: 64,
  lastTimestamp: 72,
  epoch: 80,
  flags: 84,
  deadRecordBytes: 88,
  deadTrackingBytes: 96,
  firstChunk: 104,
  reserved: 108,
} as const;

/** Run flags. */
export const RUN_FLAG = {
  /** Its chunks are relative: the coordinator assigns its first offset, and it counts from 0 here. */
  relative: 1,
} as const;

export const INDEX_FIELD = {
  position: 0,
  firstOffset: 8,
  latestTimestamp: 16,
  checksum: 24,
} as const;

/** Bytes of a run that nothing will ever need again, known when it was written. */
export interface DeadBytes {
  /** Stored bytes of records that are void or superseded. */
  readonly records: number;
  /** Stored bytes of tracking that later tracking of the same segment replaces. */
  readonly tracking: number;
}

/** A run as the footer holds it. */
export interface FooterRun extends SegmentRun {
  /** The coordinator assigns the first offset; offsets here count from 0. */
  readonly relative: boolean;
  readonly dead: DeadBytes;
  /** Index of its first chunk in the segment's chunk index. */
  readonly firstChunk: number;
}

/** What a segment says about itself. */
export interface SegmentFacts {
  readonly storeId: Uint8Array;
  readonly objectKey: string;
  /** Milliseconds since the epoch, by the clock of the store. */
  readonly createdAt: number;
}

/**
 * What a reader knows about the segment it opens. `storeId: 'any'` is for tools that are given a file by its path: they
 * know neither the store nor the object key, and `objectKey` then only names the file in errors.
 */
export interface ExpectedSegment {
  readonly storeId: Uint8Array | 'any';
  readonly objectKey: string;
  /** The footer's checksum as it was committed: another valid object under the same key does not pass. */
  readonly checksum?: bigint;
}

/** The object key as the header and footer keep it: enough to notice an object under the wrong key. */
export function objectKeyHash(objectKey: string): bigint {
  return xxh64(Buffer.from(objectKey, 'utf8'));
}
