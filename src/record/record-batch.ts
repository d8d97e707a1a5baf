/** Records as a reader gets them: a batch of one stream over private bytes, decoded in place. */
import { MillraceError } from '../errors/millrace-error.ts';
import { ABSENT, FRAME_FLAG, FRAME_HEADER_BYTES, FRAME_KIND, RECORD_ALIGNMENT } from './frame-format.ts';
import { type FrameHeader, recordHeaderBytes, walkFrames } from './frame-reader.ts';

export interface StreamRecord {
  readonly offset: number;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  /** `null` when the record has no key. */
  readonly key: Buffer | null;
  /** `null` marks a tombstone. */
  readonly value: Buffer | null;
  /** Epoch it was written in; 0 unless the stream is truncated by its writer. */
  readonly epoch: number;
}

/** Where a batch's frames come from, for errors. */
export interface BatchOrigin {
  readonly name: string;
  /** Added to every offset: frames of objects whose offsets the coordinator assigned start at 0. */
  readonly baseOffset: number;
}

/**
 * Consecutive records. Keys and values are views of the batch's own bytes: they stay valid, and keep the whole batch in
 * memory as long as one of them is held.
 */
export class RecordBatch implements Iterable<StreamRecord> {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  /** Index of each record's header in `#bytes`. */
  readonly #positions: Uint32Array;
  readonly #offsets: Float64Array;
  readonly #timestamps: Float64Array;
  readonly #epochs: Uint32Array;
  /** One past the last offset that the frames cover, with or without a record. */
  readonly nextOffset: number;
  /** Number of records. */
  readonly length: number;
  readonly #headerBytes: Uint8Array;

  /**
   * Decodes `bytes`, whole frames of one stream, and keeps the records with `from <= offset < to`. Throws
   * `ERR_MILLRACE_SEGMENT_CORRUPT` when a length does not fit.
   */
  constructor(bytes: Uint8Array, origin: BatchOrigin, from: number, to: number) {
    this.#bytes = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const corrupt = (problem: string, at: number): MillraceError =>
      new MillraceError('ERR_MILLRACE_SEGMENT_CORRUPT', `${origin.name}: ${problem} at byte ${at} of its frames`, {
        details: { file: origin.name, position: at },
      });
    const frames: { header: FrameHeader; at: number }[] = [];
    let capacity = 0;
    let nextOffset = from;
    walkFrames(this.#view, 0, bytes.byteLength, corrupt, (header, at) => {
      frames.push({ header, at });
      capacity += header.recordCount;
      if (header.offsetSpan > 0) nextOffset = origin.baseOffset + header.firstOffset + header.offsetSpan;
    });
    this.#positions = new Uint32Array(capacity);
    this.#offsets = new Float64Array(capacity);
    this.#timestamps = new Float64Array(capacity);
    this.#epochs = new Uint32Array(capacity);
    this.#headerBytes = new Uint8Array(capacity);
    let count = 0;
    for (const { header, at } of frames) {
      if (header.kind !== FRAME_KIND.records) continue;
      count = this.#index(header, at, origin.baseOffset, from, to, count, corrupt);
    }
    this.length = count;
    this.nextOffset = Math.min(nextOffset, to);
  }

  #index(
    header: FrameHeader,
    at: number,
    baseOffset: number,
    from: number,
    to: number,
    count: number,
    corrupt: (problem: string, at: number) => MillraceError,
  ): number {
    const view = this.#view;
    const frameEnd = at + header.frameBytes;
    const sparse = (header.flags & FRAME_FLAG.sparse) !== 0;
    const headerBytes = recordHeaderBytes(header);
    let position = at + FRAME_HEADER_BYTES + header.extensionBytes;
    let previous = -1;
    for (let index = 0; index < header.recordCount; index += 1) {
      if (position + headerBytes > frameEnd) throw corrupt('a record header outside its frame', position);
      const valueBytes = view.getUint32(position, true);
      const keyBytes = view.getUint32(position + 4, true);
      const content = (valueBytes === ABSENT ? 0 : valueBytes) + (keyBytes === ABSENT ? 0 : keyBytes);
      const end = position + headerBytes + content;
      if (end > frameEnd) throw corrupt(`a record of ${content} bytes outside its frame`, position);
      const delta = sparse ? view.getUint32(position + 12, true) : index;
      if (delta <= previous || delta >= header.offsetSpan) throw corrupt('record offsets out of order', position);
      previous = delta;
      const offset = baseOffset + header.firstOffset + delta;
      if (offset >= from && offset < to) {
        this.#positions[count] = position;
        this.#offsets[count] = offset;
        this.#timestamps[count] = header.timestamp + view.getInt32(position + 8, true);
        this.#epochs[count] = header.epoch;
        this.#headerBytes[count] = headerBytes;
        count += 1;
      }
      position = (end + RECORD_ALIGNMENT - 1) & ~(RECORD_ALIGNMENT - 1);
    }
    return count;
  }

  /** Offset of the first record; `nextOffset` when the batch is empty. */
  get firstOffset(): number {
    return this.length === 0 ? this.nextOffset : this.offset(0);
  }

  /** Offset of record `index`. */
  offset(index: number): number {
    this.#check(index);
    return this.#offsets[index] as number;
  }

  /** Timestamp of record `index`. */
  timestamp(index: number): number {
    this.#check(index);
    return this.#timestamps[index] as number;
  }

  /** Value of record `index`, without building the record. */
  value(index: number): Buffer | null {
    this.#check(index);
    const position = this.#positions[index] as number;
    const valueBytes = this.#view.getUint32(position, true);
    if (valueBytes === ABSENT) return null;
    const keyBytes = this.#view.getUint32(position + 4, true);
    const start = position + (this.#headerBytes[index] as number) + (keyBytes === ABSENT ? 0 : keyBytes);
    return this.#bytes.subarray(start, start + valueBytes);
  }

  /** Key of record `index`, without building the record. */
  key(index: number): Buffer | null {
    this.#check(index);
    const position = this.#positions[index] as number;
    const keyBytes = this.#view.getUint32(position + 4, true);
    if (keyBytes === ABSENT) return null;
    const start = position + (this.#headerBytes[index] as number);
    return this.#bytes.subarray(start, start + keyBytes);
  }

  /** Record `index`, 0 <= index < length. Throws a `RangeError` otherwise. */
  record(index: number): StreamRecord {
    return {
      offset: this.offset(index),
      timestamp: this.#timestamps[index] as number,
      key: this.key(index),
      value: this.value(index),
      epoch: this.#epochs[index] as number,
    };
  }

  *[Symbol.iterator](): Iterator<StreamRecord> {
    for (let index = 0; index < this.length; index += 1) yield this.record(index);
  }

  #check(index: number): void {
    if (!(index >= 0 && index < this.length)) throw new RangeError(`record ${index} of a batch of ${this.length}`);
  }
}
