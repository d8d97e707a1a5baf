/** Records as a reader gets them: a batch of one stream over private bytes, decoded in place. */
import { MillraceError } from '../errors/millrace-error.ts';
import { ABSENT, FRAME_FLAG, FRAME_HEADER_BYTES, FRAME_KIND, paddedRecord } from './frame-format.ts';
import { allocateFields, type BatchMemory, type RecordIndex } from './record-index.ts';
import { type FrameHeader, recordHeaderBytes, walkFrames } from './frame-reader.ts';

/** A record as it is read. */
export interface StreamRecord {
  /** Its place in the stream: dense from 0. */
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
 * memory as long as one of them is held. With the option `reuse` they are valid until the next batch is asked for.
 */
export class RecordBatch implements Iterable<StreamRecord> {
  readonly #index: RecordIndex;
  readonly #start: number;
  /** Number of records. */
  readonly length: number;
  /** One past the last offset that the batch covers, with or without a record. */
  readonly nextOffset: number;

  private constructor(index: RecordIndex, start: number, length: number, nextOffset: number) {
    this.#index = index;
    this.#start = start;
    this.length = length;
    this.nextOffset = nextOffset;
  }

  /**
   * Decodes `bytes`, whole frames of one stream, and keeps the records with `from <= offset < to`. Throws
   * `ERR_MILLRACE_SEGMENT_CORRUPT` when a length does not fit. The batch is valid until `memory` is used again.
   */
  static decode(bytes: Uint8Array, origin: BatchOrigin, from: number, to: number, memory?: BatchMemory): RecordBatch {
    const decoder = new RecordDecoder(bytes, origin, from, to, memory);
    return new RecordBatch(decoder.index, 0, decoder.count, Math.min(decoder.nextOffset, to));
  }

  /** Offset of the first record; `nextOffset` when the batch is empty. */
  get firstOffset(): number {
    return this.length === 0 ? this.nextOffset : this.offset(0);
  }

  /** @internal Size of the frames that the records lie in, with those beside them. */
  get frameBytes(): number {
    return this.#index.bytes.length;
  }

  /** Offset of record `index`. */
  offset(index: number): number {
    return this.#index.fields.offsets[this.#at(index)] as number;
  }

  /** Timestamp of record `index`. */
  timestamp(index: number): number {
    return this.#index.fields.timestamps[this.#at(index)] as number;
  }

  /** Epoch that record `index` was written in. */
  epoch(index: number): number {
    return this.#index.fields.epochs[this.#at(index)] as number;
  }

  /** Value of record `index`, without building the record. */
  value(index: number): Buffer | null {
    return valueAt(this.#index, this.#at(index));
  }

  /** Key of record `index`, without building the record. */
  key(index: number): Buffer | null {
    return keyAt(this.#index, this.#at(index));
  }

  /** Record `index`, 0 <= index < length. Throws a `RangeError` otherwise. */
  record(index: number): StreamRecord {
    const at = this.#at(index);
    const { fields } = this.#index;
    return {
      offset: fields.offsets[at] as number,
      timestamp: fields.timestamps[at] as number,
      key: keyAt(this.#index, at),
      value: valueAt(this.#index, at),
      epoch: fields.epochs[at] as number,
    };
  }

  /** The record with this offset; `undefined` when the batch holds none. */
  find(offset: number): StreamRecord | undefined {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.offset(middle) < offset) low = middle + 1;
      else high = middle;
    }
    return low < this.length && this.offset(low) === offset ? this.record(low) : undefined;
  }

  /** Index of the first record with this timestamp or a later one; -1 when there is none. */
  indexOfTimestamp(timestamp: number): number {
    for (let index = 0; index < this.length; index += 1) {
      if (this.timestamp(index) >= timestamp) return index;
    }
    return -1;
  }

  /** The first `count` records as a batch. */
  first(count: number): RecordBatch {
    if (count >= this.length) return this;
    return new RecordBatch(this.#index, this.#start, count, this.offset(count));
  }

  /** The records from `index` on as a batch. */
  rest(index: number): RecordBatch {
    if (index === 0) return this;
    return new RecordBatch(this.#index, this.#start + index, Math.max(0, this.length - index), this.nextOffset);
  }

  /** Record by record: `record(i)` of a loop saves the iterator. */
  *[Symbol.iterator](): Iterator<StreamRecord> {
    for (let index = 0; index < this.length; index += 1) yield this.record(index);
  }

  #at(index: number): number {
    if (index >= 0 && index < this.length) return this.#start + index;
    throw new RangeError(`record ${index} of a batch of ${this.length}`);
  }
}

function keyAt(records: RecordIndex, at: number): Buffer | null {
  const position = records.fields.positions[at] as number;
  const keyBytes = records.view.getUint32(position + 4, true);
  if (keyBytes === ABSENT) return null;
  const start = position + (records.fields.headerBytes[at] as number);
  return records.bytes.subarray(start, start + keyBytes);
}

function valueAt(records: RecordIndex, at: number): Buffer | null {
  const position = records.fields.positions[at] as number;
  const valueBytes = records.view.getUint32(position, true);
  if (valueBytes === ABSENT) return null;
  const keyBytes = records.view.getUint32(position + 4, true);
  const start = position + (records.fields.headerBytes[at] as number) + (keyBytes === ABSENT ? 0 : keyBytes);
  return records.bytes.subarray(start, start + valueBytes);
}

/** Walks frames once and notes where the records in a range lie. */
class RecordDecoder {
  readonly index: RecordIndex;
  count = 0;
  nextOffset: number;
  readonly #origin: BatchOrigin;
  readonly #corrupt: (problem: string, at: number) => MillraceError;
  readonly #from: number;
  readonly #to: number;

  constructor(bytes: Uint8Array, origin: BatchOrigin, from: number, to: number, memory: BatchMemory | undefined) {
    this.#origin = origin;
    this.#corrupt = segmentFramesCorrupt(origin);
    this.#from = from;
    this.#to = to;
    this.nextOffset = from;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const frames: { header: FrameHeader; at: number }[] = [];
    let capacity = 0;
    let end = -Infinity;
    walkFrames(view, 0, bytes.byteLength, this.#corrupt, (header, at) => {
      frames.push({ header, at });
      capacity += header.recordCount;
      if (header.offsetSpan === 0) return;
      const first = origin.baseOffset + header.firstOffset;
      // Looking a record up, and going on behind a batch, rely on it.
      if (first < end) throw this.#corrupt(`a frame from offset ${first} behind one up to ${end}`, at);
      end = first + header.offsetSpan;
      if (!Number.isSafeInteger(end)) throw this.#corrupt('offset out of range', at);
      this.nextOffset = end;
    });
    this.index = {
      bytes: Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength),
      view,
      fields: memory?.fields(capacity) ?? allocateFields(capacity),
    };
    for (const { header, at } of frames) {
      if (header.kind === FRAME_KIND.records) this.#addFrame(header, at);
    }
  }

  #addFrame(header: FrameHeader, at: number): void {
    const { view } = this.index;
    const frameEnd = at + header.frameBytes;
    const sparse = (header.flags & FRAME_FLAG.sparse) !== 0;
    const headerBytes = recordHeaderBytes(header);
    let position = at + FRAME_HEADER_BYTES + header.extensionBytes;
    let previous = -1;
    for (let index = 0; index < header.recordCount; index += 1) {
      if (position + headerBytes > frameEnd) throw this.#corrupt('a record header outside its frame', position);
      const valueBytes = view.getUint32(position, true);
      const keyBytes = view.getUint32(position + 4, true);
      const content = (valueBytes === ABSENT ? 0 : valueBytes) + (keyBytes === ABSENT ? 0 : keyBytes);
      const end = position + headerBytes + content;
      if (end > frameEnd) throw this.#corrupt(`a record of ${content} bytes outside its frame`, position);
      const delta = sparse ? view.getUint32(position + 12, true) : index;
      if (delta <= previous || delta >= header.offsetSpan) throw this.#corrupt('record offsets out of order', position);
      previous = delta;
      this.#addRecord(header, position, headerBytes, delta);
      position += paddedRecord(headerBytes + content);
    }
  }

  #addRecord(header: FrameHeader, position: number, headerBytes: number, delta: number): void {
    const offset = this.#origin.baseOffset + header.firstOffset + delta;
    if (offset < this.#from || offset >= this.#to) return;
    const { count } = this;
    const { fields, view } = this.index;
    fields.positions[count] = position;
    fields.offsets[count] = offset;
    fields.timestamps[count] = header.timestamp + view.getInt32(position + 8, true);
    fields.epochs[count] = header.epoch;
    fields.headerBytes[count] = headerBytes;
    this.count = count + 1;
  }
}

/** Errors about frames, for `walkFrames` and `walkRecords`. */
export function segmentFramesCorrupt({ name }: BatchOrigin): (problem: string, at: number) => MillraceError {
  return (problem, at) =>
    new MillraceError('ERR_MILLRACE_SEGMENT_CORRUPT', `${name}: ${problem} at byte ${at} of its frames`, {
      details: { file: name, position: at },
    });
}
