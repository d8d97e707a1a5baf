/**
 * A frame: consecutive records of one stream, written by one append or by several that followed each other. The same
 * bytes lie in a WAL block and, grouped by stream, in the body of a segment chunk: flushing moves frames and never
 * re-encodes a record. See `docs/formats/frame.md`.
 *
 * ```
 *   0 frame bytes u32       header, extension, records and padding: a multiple of 8
 *   4 stream id u32
 *   8 first offset u64
 *  16 timestamp i64         milliseconds; each record adds its own delta
 *  24 record count u32
 *  28 offset span u32       offsets the frame covers: record count, or more when sparse or lost; 0 for tracking
 *  32 epoch u32
 *  36 user bytes u32        keys and values
 *  40 kind u8, flags u8, extension bytes u16 (a multiple of 8)
 *  44 extension, then records, then 4 or more zeros
 * ```
 *
 * A record is `valueBytes u32 · keyBytes u32 · timestampDelta i32 · [offsetDelta u32 when sparse] · key · value`,
 * padded to a multiple of 8; 0xffffffff as a length means: no value (a tombstone), no key. `offsetDelta` counts from
 * the frame's first offset.
 *
 * The header ends 4 bytes off a multiple of 8 and a record's header takes 12, so the value of every record without a
 * key begins at a multiple of 8, as most buffers do: only then does copying it into shared memory move words
 * (`copyInto`).
 */
export const FRAME_HEADER_BYTES = 44;
export const FRAME_ALIGNMENT = 8;
/** The least that a frame takes: a header, padded. */
export const FRAME_BYTES_MIN = 48;
/** Of a record's length. */
const RECORD_ALIGNMENT = 8;
export const RECORD_HEADER_BYTES = 12;
export const SPARSE_RECORD_HEADER_BYTES = 16;

/** As a length: there is no value, or no key. */
export const ABSENT = 0xffff_ffff;

/** What a frame carries. */
export const FRAME_KIND = {
  /** User records. */
  records: 1,
  /** Consumer offsets and publisher ids; consumes no offset. */
  tracking: 2,
  /** The stream continues at `first offset`: later offsets written before are void. */
  truncation: 3,
  /** Offsets that a salvage found unreadable: they are covered, but hold no record. */
  lost: 4,
} as const;
export type FrameKind = (typeof FRAME_KIND)[keyof typeof FRAME_KIND];

/** Frame flags. */
export const FRAME_FLAG = {
  /** Records carry their own offset delta: some offsets between them have no record. */
  sparse: 1,
} as const;

/** Field positions inside a frame header. */
export const FRAME_FIELD = {
  frameBytes: 0,
  streamId: 4,
  firstOffset: 8,
  timestamp: 16,
  recordCount: 24,
  offsetSpan: 28,
  epoch: 32,
  userBytes: 36,
  kind: 40,
  flags: 41,
  extensionBytes: 42,
} as const;

/** The bytes one record takes in a frame that is not sparse. */
export function recordBytes(keyBytes: number, valueBytes: number): number {
  return paddedRecord(RECORD_HEADER_BYTES + keyBytes + valueBytes);
}

/** The bytes a record takes whose header and content have `bytes`. */
export function paddedRecord(bytes: number): number {
  return (bytes + RECORD_ALIGNMENT - 1) & ~(RECORD_ALIGNMENT - 1);
}
