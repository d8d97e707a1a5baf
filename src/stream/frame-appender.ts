/**
 * Puts records into the ring as frames. Consecutive records of one stream share a frame, so a record costs 12 bytes and
 * no index entry; a record of another stream, a distant timestamp or a full frame starts the next one.
 */
import { assert } from '../base/assert.ts';
import { FRAME_BYTES_TARGET } from '../limits/limits.ts';
import type { Memtable } from '../memtable/memtable.ts';
import type { RingProducer } from '../ring/producer.ts';
import { alignUp } from '../base/bytes.ts';
import {
  FRAME_ALIGNMENT,
  FRAME_HEADER_BYTES,
  FRAME_KIND,
  type FrameKind,
  recordBytes,
} from '../record/frame-format.ts';
import { type FrameFacts, FrameMemory, finishFrame, writeRecord, writeTextRecord } from '../record/frame-writer.ts';
import type { PackedValues } from '../record/packed-values.ts';
import type { RecordValue } from '../record/record-input.ts';
import { publisherExtensionBytes, writePublisherExtension } from '../record/tracking-format.ts';

/** A stream's state on the writing side. Owned by the thread of its lane. */
export interface WritableStreamState {
  readonly streamId: number;
  /** Offset of the next record. */
  nextOffset: number;
  epoch: number;
  /** Bytes of keys and values appended since the store was opened. */
  userBytes: number;
  /** Bytes of tracking frames and publishers' marks appended since the store was opened. */
  trackingBytes: number;
}

/** Who publishes a record, and under which id: the frame carries the id of its last record. */
export interface PublisherTag {
  /** UTF-8 of the publisher's reference. */
  readonly reference: Uint8Array;
  publishingId: number;
}

/** Ends of frames are padded to 8 while records are padded to 4. */
const FRAME_PADDING = 4;
const DELTA_MAX = 2 ** 31 - 1;
const NO_STREAM: WritableStreamState = { streamId: 0, nextOffset: 0, epoch: 0, userBytes: 0, trackingBytes: 0 };

const NO_RECORDS = {
  timestamp: 0,
  recordCount: 0,
  offsetSpan: 0,
  userBytes: 0,
  flags: 0,
  extensionBytes: 0,
} as const;

/** What the header of a frame of records says; one for all frames, since with many streams each record has its own. */
class RecordFrameFacts implements FrameFacts {
  streamId = 0;
  firstOffset = 0;
  timestamp = 0;
  recordCount = 0;
  offsetSpan = 0;
  epoch = 0;
  userBytes = 0;
  readonly kind = FRAME_KIND.records;
  readonly flags = 0;
  extensionBytes = 0;
}

export class FrameAppender {
  /** Records written so far, and bytes of their keys and values; the open frame is counted when it ends. */
  records = 0;
  userBytes = 0;
  readonly #producer: RingProducer;
  readonly #memory: FrameMemory;
  readonly #memtable: Memtable;
  readonly #facts = new RecordFrameFacts();
  /** The open frame; `NO_STREAM` when there is none. */
  #stream: WritableStreamState = NO_STREAM;
  #start = 0;
  #end = 0;
  #firstOffset = 0;
  #timestamp = 0;
  #count = 0;
  #userBytes = 0;
  #publisher: PublisherTag | undefined;
  #publishingId = 0;

  constructor(ring: SharedArrayBuffer, producer: RingProducer, memtable: Memtable) {
    this.#producer = producer;
    this.#memory = new FrameMemory(ring);
    this.#memtable = memtable;
  }

  /**
   * Writes the stream's next record. `room` is at least the bytes of `value`. Returns false, with nothing changed, when
   * the ring is full. With a `publisher`, its present id is the record's.
   */
  append(
    stream: WritableStreamState,
    key: Uint8Array | null,
    value: RecordValue,
    room: number,
    timestamp: number,
    publisher?: PublisherTag,
  ): boolean {
    const keyLength = key === null ? 0 : key.length;
    const needed = recordBytes(keyLength, room) + FRAME_PADDING;
    if (!this.#extends(stream, needed, timestamp, publisher)) {
      if (!this.#begin(stream, needed, timestamp, publisher)) return false;
    }
    if (publisher !== undefined) this.#publishingId = publisher.publishingId;
    this.#write(stream, key, value, timestamp);
    return true;
  }

  /**
   * Writes values from `index` on as the stream's next records, as many as go into one frame. Returns how many; 0, with
   * nothing changed, when the ring is full.
   */
  appendPacked(stream: WritableStreamState, values: PackedValues, index: number, timestamp: number): number {
    const { ranges, memory } = values;
    const length = (ranges[2 * index + 1] as number) - (ranges[2 * index] as number);
    const needed = recordBytes(0, length) + FRAME_PADDING;
    if (!this.#extends(stream, needed, timestamp, undefined)) {
      if (!this.#begin(stream, needed, timestamp, undefined)) return 0;
    }
    const at = this.#end;
    const room = Math.min(this.#start + FRAME_BYTES_TARGET - at, this.#producer.room);
    // A record may be larger than a frame should be.
    const packed =
      needed > room
        ? undefined
        : memory?.pack(values, index, timestamp - this.#timestamp, { at, room: room - FRAME_PADDING });
    if (packed === undefined) {
      this.#write(stream, null, values.value(index), timestamp);
      return 1;
    }
    this.#memory.bytes.set(packed.bytes, at);
    this.#wrote(stream, at + packed.bytes.length, packed.count, packed.userBytes);
    return packed.count;
  }

  /** Writes a record into the open frame, which has the room. */
  #write(stream: WritableStreamState, key: Uint8Array | null, value: RecordValue, timestamp: number): void {
    const at = this.#end;
    const end =
      typeof value === 'string'
        ? writeTextRecord(this.#memory, at, key, value, timestamp - this.#timestamp)
        : writeRecord(this.#memory, at, key, value, timestamp - this.#timestamp);
    const valueBytes = value === null ? 0 : (this.#memory.words[at >>> 2] as number);
    this.#wrote(stream, end, 1, (key === null ? 0 : key.length) + valueBytes);
  }

  #wrote(stream: WritableStreamState, end: number, records: number, userBytes: number): void {
    this.#producer.advance(end);
    this.#end = end;
    this.#count += records;
    this.#userBytes += userBytes;
    stream.userBytes += userBytes;
    stream.nextOffset += records;
  }

  /**
   * Writes a frame without records: tracking, or a truncation. `content` follows its header. Returns false, with
   * nothing changed, when the ring is full.
   */
  appendControl(
    stream: WritableStreamState,
    kind: FrameKind,
    firstOffset: number,
    epoch: number,
    content: Uint8Array,
  ): boolean {
    this.finish();
    const bytes = FRAME_HEADER_BYTES + content.length;
    const start = this.#producer.reserve(alignUp(bytes, FRAME_ALIGNMENT));
    if (start < 0) return false;
    this.#memory.bytes.set(content, start + FRAME_HEADER_BYTES);
    const { streamId } = stream;
    const facts = { ...NO_RECORDS, streamId, firstOffset, epoch, kind };
    const end = finishFrame(this.#memory, start, start + bytes, facts);
    this.#producer.advance(end);
    if (kind === FRAME_KIND.tracking) stream.trackingBytes += end - start;
    if (kind === FRAME_KIND.truncation) {
      this.#memtable.truncate(streamId, firstOffset, this.#producer.logPositionOf(start));
    }
    return true;
  }

  /** Completes the open frame's header. The producer calls for it before a block closes. */
  finish(): void {
    if (this.#stream === NO_STREAM) return;
    const { bytes, view } = this.#memory;
    const reference = this.#publisher?.reference;
    if (reference !== undefined) {
      writePublisherExtension(bytes, view, this.#start + FRAME_HEADER_BYTES, reference, this.#publishingId);
    }
    const facts = this.#facts;
    facts.streamId = this.#stream.streamId;
    facts.firstOffset = this.#firstOffset;
    facts.timestamp = this.#timestamp;
    facts.recordCount = this.#count;
    facts.offsetSpan = this.#count;
    facts.epoch = this.#stream.epoch;
    facts.userBytes = this.#userBytes;
    facts.extensionBytes = reference === undefined ? 0 : publisherExtensionBytes(reference.length);
    const next = finishFrame(this.#memory, this.#start, this.#end, facts);
    this.#producer.advance(next);
    this.records += this.#count;
    this.userBytes += this.#userBytes;
    this.#stream = NO_STREAM;
    this.#publisher = undefined;
  }

  #extends(
    stream: WritableStreamState,
    needed: number,
    timestamp: number,
    publisher: PublisherTag | undefined,
  ): boolean {
    if (this.#stream !== stream || this.#publisher !== publisher) return false;
    const delta = timestamp - this.#timestamp;
    if (delta > DELTA_MAX || delta < -DELTA_MAX) return false;
    if (this.#end - this.#start + needed > FRAME_BYTES_TARGET) return false;
    return this.#producer.fits(needed);
  }

  #begin(stream: WritableStreamState, needed: number, timestamp: number, publisher: PublisherTag | undefined): boolean {
    this.finish();
    const producer = this.#producer;
    const extensionBytes = publisher === undefined ? 0 : publisherExtensionBytes(publisher.reference.length);
    const start = producer.reserve(FRAME_HEADER_BYTES + extensionBytes + needed);
    if (start < 0) return false;
    assert(start % 8 === 0, 'frames are aligned');
    producer.advance(start + FRAME_HEADER_BYTES + extensionBytes);
    this.#memtable.add(stream.streamId, stream.nextOffset, producer.logPositionOf(start));
    this.#stream = stream;
    this.#start = start;
    this.#end = start + FRAME_HEADER_BYTES + extensionBytes;
    this.#publisher = publisher;
    stream.trackingBytes += extensionBytes;
    this.#firstOffset = stream.nextOffset;
    this.#timestamp = timestamp;
    this.#count = 0;
    this.#userBytes = 0;
    return true;
  }
}
