/**
 * A lane: one producer thread's way into the store. It encodes appends into the ring, closes blocks at the end of a
 * tick, settles acknowledgements when the WAL worker publishes durability, and lets appends wait while the ring is
 * full.
 */
import type { Clock } from '../base/clock.ts';
import { Signal } from '../base/signal.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { BLOCK_BYTES_TARGET } from '../limits/limits.ts';
import { Memtable } from '../memtable/memtable.ts';
import { BLOCK_HEADER_BYTES } from '../ring/block-format.ts';
import type { Doorbell } from '../ring/doorbell.ts';
import { logPosition, type RingGeometry, slotBase } from '../ring/geometry.ts';
import { type LaneIdentity, type LaneStart, RingProducer, type SealedSlot } from '../ring/producer.ts';
import { FRAME_HEADER_BYTES, FRAME_KIND, type FrameKind, recordBytes } from '../record/frame-format.ts';
import type { FrameHeader } from '../record/frame-reader.ts';
import type { RecordInput, RecordValue } from '../record/record-input.ts';
import { checkTimestamp, checkValue, isBareValue, keyBytes, valueRoom } from '../record/record-input.ts';
import { type Durability, type DurabilityObserver, WalDurability } from './durability.ts';
import { FrameAppender, type PublisherTag, type WritableStreamState } from './frame-appender.ts';

export interface LaneOptions {
  readonly ring: SharedArrayBuffer;
  readonly geometry: RingGeometry;
  readonly identity: LaneIdentity;
  readonly start: LaneStart;
  /** Fillings up to this one are free. */
  readonly released: number;
  readonly doorbell: Doorbell;
  readonly clock: Clock;
  readonly maxRecordBytes: number;
  /** Bytes of appends that may wait, by reference, for a full ring. */
  readonly maxQueuedBytes: number;
  /** How appends become durable. Default: when the WAL worker says so. */
  readonly durability?: (observer: DurabilityObserver) => Durability;
}

/** What a lane tells its owner. */
export interface LaneObserver {
  /** A filling ended; it is to be flushed once durable. */
  sealed(slot: SealedSlot): void;
  /** More of the log is durable: followers may go on. */
  durable(): void;
  /** Whether any append waits: the process must not end meanwhile. */
  pending(waiting: boolean): void;
}

type Settle = { readonly resolve: (offset: number) => void; readonly reject: (error: unknown) => void };

/** An append that found the ring full. Its values stay with the caller until there is room. */
interface QueuedAppend extends Settle {
  readonly stream: WritableStreamState;
  readonly records: readonly RecordInput[];
  readonly bytes: number;
  readonly published: PublishedBatch | undefined;
  index: number;
  firstOffset: number;
}

/** Records of a publisher. Ids are in the order of the records. */
export interface PublishedBatch {
  readonly tag: PublisherTag;
  readonly publishingIds: readonly number[];
  /** Called for each record as it enters the log: from then on the id may be in a snapshot, and not before. */
  readonly placed: (publishingId: number, offset: number) => void;
}

// A promise's executor runs inside `new`, so one shared executor can hand the two functions out without a closure per
// append.
let capturedResolve: (offset: number) => void;
let capturedReject: (error: unknown) => void;
const capture = (resolve: (offset: number) => void, reject: (error: unknown) => void): void => {
  capturedResolve = resolve;
  capturedReject = reject;
};

/** Room for frame headers and padding in the estimate of what a group of records takes. */
const GROUP_SLACK: number = BLOCK_HEADER_BYTES + 2 * FRAME_HEADER_BYTES;

export class Lane {
  readonly memtable: Memtable;
  readonly producer: RingProducer;
  readonly #options: LaneOptions;
  readonly #observer: LaneObserver;
  readonly #appender: FrameAppender;
  readonly #durability: Durability;
  readonly #queue: QueuedAppend[] = [];
  #queuedBytes = 0;
  /** Log position one past the last closed block. */
  #closedEnd: number;
  readonly #released = new Signal();
  #closeScheduled = false;
  #now = 0;
  #failure: MillraceError | undefined;

  constructor(options: LaneOptions, observer: LaneObserver) {
    this.#options = options;
    this.#observer = observer;
    this.memtable = new Memtable(options.ring, options.geometry);
    this.producer = new RingProducer(
      options.ring,
      options.geometry,
      options.identity,
      options.start,
      options.released,
      options.doorbell,
      {
        closing: () => {
          this.#appender.finish();
        },
        closed: (nextBlock, logEnd) => {
          this.#closedEnd = logEnd;
          this.#now = this.#options.clock.now();
          this.#durability.closed(nextBlock, logEnd);
        },
        sealed: (slot) => {
          observer.sealed(slot);
        },
      },
    );
    this.producer.words.reset(options.start.blockSequence);
    this.#appender = new FrameAppender(options.ring, this.producer, this.memtable);
    this.#closedEnd = logPosition(options.start.slotSequence, 0);
    const durabilityObserver = {
      durable: (): void => {
        observer.durable();
      },
      waiting: (waits: boolean): void => {
        observer.pending(waits || this.#queue.length > 0);
      },
    };
    const { blockSequence } = options.start;
    this.#durability =
      options.durability?.(durabilityObserver) ??
      new WalDurability(this.producer.words, blockSequence, this.#closedEnd, durabilityObserver);
  }

  /** Log position up to which everything is durable. */
  get durableEnd(): number {
    return this.#durability.durableEnd;
  }

  /** Bytes of appends that wait for room in the ring. */
  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** Why the lane takes no more appends; `undefined` while it does. */
  get failure(): MillraceError | undefined {
    return this.#failure;
  }

  /** Appends one record; resolves with its offset when it is durable. Throws, with nothing done, when it is refused. */
  append(
    stream: WritableStreamState,
    value: RecordValue,
    key: Uint8Array | null,
    timestamp: number | undefined,
  ): Promise<number> {
    if (this.#failure !== undefined) throw this.#failure;
    checkValue(value, this.#options.maxRecordBytes);
    if (timestamp !== undefined) checkTimestamp(timestamp);
    if (!this.#closeScheduled) this.#scheduleClose();
    const room = valueRoom(value);
    const offset = stream.nextOffset;
    if (this.#queue.length === 0 && this.#appender.append(stream, key, value, room, timestamp ?? this.#now)) {
      const promise = new Promise<number>(capture);
      this.#durability.push(capturedResolve, capturedReject, stream.streamId, offset);
      return promise;
    }
    const record = { value, key, timestamp: timestamp ?? this.#now };
    return this.#enqueue(stream, [record], room + (key?.length ?? 0), 0, offset);
  }

  /**
   * Appends many records with consecutive offsets; resolves with the first one when all are durable. They survive a
   * crash all or none when they fit one block (1 MiB encoded); otherwise a prefix may. Throws, with nothing done, when
   * they are refused.
   */
  appendMany(
    stream: WritableStreamState,
    records: readonly RecordInput[],
    published?: PublishedBatch,
  ): Promise<number> {
    if (this.#failure !== undefined) throw this.#failure;
    const bytes = this.#measure(records);
    const firstOffset = stream.nextOffset;
    if (records.length === 0) return Promise.resolve(firstOffset);
    if (!this.#closeScheduled) this.#scheduleClose();
    if (this.#queue.length > 0) return this.#enqueue(stream, records, bytes, 0, firstOffset, published);
    if (bytes <= BLOCK_BYTES_TARGET && !this.producer.fits(bytes)) this.producer.closeBlock();
    const index = this.#place(stream, records, 0, published);
    if (index < records.length) return this.#enqueue(stream, records, bytes, index, firstOffset, published);
    const promise = new Promise<number>(capture);
    this.#durability.push(capturedResolve, capturedReject, stream.streamId, firstOffset);
    return promise;
  }

  /**
   * Writes a frame without records; resolves when it is durable. It waits its turn behind queued appends, and is never
   * refused for a full queue: it is small, and written at a bounded rate.
   */
  async appendControl(stream: WritableStreamState, kind: FrameKind, content: Uint8Array): Promise<void> {
    while (this.#failure === undefined) {
      if (this.#queue.length === 0) {
        this.#scheduleClose();
        if (this.#appender.appendControl(stream, kind, stream.nextOffset, content)) return this.barrier();
      }
      await this.#released.wait();
    }
    throw this.#failure;
  }

  /** Resolves when everything appended so far is durable. */
  async barrier(): Promise<void> {
    await this.drained();
    if (!this.producer.hasOpenBlock) return this.whenDurable(this.#closedEnd);
    const promise = new Promise<number>(capture);
    this.#durability.push(capturedResolve, capturedReject, 0, 0);
    this.#scheduleClose();
    await promise;
  }

  /** Closes the open block now instead of at the end of the tick. */
  close(): void {
    this.producer.closeBlock();
  }

  /** Ends the current filling, so that it is flushed. */
  seal(): SealedSlot | undefined {
    return this.producer.sealSlot();
  }

  /** Takes over a frame that recovery found in the ring. Recovered frames are durable. */
  recover(header: FrameHeader, slotSequence: number, at: number): void {
    const { kind, streamId, firstOffset } = header;
    const position = logPosition(slotSequence, at - slotBase(this.#options.geometry, slotSequence));
    if (kind === FRAME_KIND.truncation) this.memtable.truncate(streamId, firstOffset, position);
    else if (header.offsetSpan > 0) this.memtable.add(streamId, firstOffset, position);
  }

  /** Resolves when everything before `logEnd` is durable; rejects when it never will be. */
  whenDurable(logEnd: number): Promise<void> {
    return this.#durability.whenDurable(logEnd);
  }

  /** Resolves when no append waits for room in the ring; rejects when the lane fails. */
  async drained(): Promise<void> {
    while (this.#queue.length > 0) await this.#released.wait();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** A flushed filling is free: forgets its frames and lets waiting appends go on. */
  release(slotSequence: number): void {
    this.memtable.dropThrough(slotSequence);
    this.producer.release(slotSequence);
    if (this.#failure === undefined) this.#drainQueue();
    this.#released.notify();
  }

  /** Fail stop: rejects everything that waits and everything to come. Reads go on. */
  fail(error: MillraceError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    const queued = this.#queue.splice(0);
    this.#queuedBytes = 0;
    this.#durability.fail(error);
    for (const { reject } of queued) reject(error);
    this.#released.notify();
  }

  #measure(records: readonly RecordInput[]): number {
    let bytes = GROUP_SLACK;
    for (const record of records) {
      if (isBareValue(record)) {
        checkValue(record, this.#options.maxRecordBytes);
        bytes += recordBytes(0, valueRoom(record));
      } else {
        checkValue(record.value, this.#options.maxRecordBytes);
        if (record.timestamp !== undefined) checkTimestamp(record.timestamp);
        bytes += recordBytes(keyBytes(record.key)?.length ?? 0, valueRoom(record.value));
      }
    }
    return bytes + Math.ceil(bytes / BLOCK_BYTES_TARGET) * GROUP_SLACK;
  }

  /** Writes records from `index` on; returns the index of the first that found the ring full. */
  #place(
    stream: WritableStreamState,
    records: readonly RecordInput[],
    index: number,
    published: PublishedBatch | undefined,
  ): number {
    const appender = this.#appender;
    const tag = published?.tag;
    for (; index < records.length; index += 1) {
      const record = records[index] as RecordInput;
      if (published !== undefined) published.tag.publishingId = published.publishingIds[index] as number;
      const fits = isBareValue(record)
        ? appender.append(stream, null, record, valueRoom(record), this.#now, tag)
        : appender.append(
            stream,
            keyBytes(record.key),
            record.value,
            valueRoom(record.value),
            record.timestamp ?? this.#now,
            tag,
          );
      if (!fits) return index;
      published?.placed(published.publishingIds[index] as number, stream.nextOffset - 1);
    }
    return index;
  }

  #enqueue(
    stream: WritableStreamState,
    records: readonly RecordInput[],
    bytes: number,
    index: number,
    firstOffset: number,
    published?: PublishedBatch,
  ): Promise<number> {
    // A large `appendMany` may always wait: its caller holds one promise for all of it and cannot pile up more.
    if (this.#queuedBytes > 0 && this.#queuedBytes + bytes > this.#options.maxQueuedBytes) {
      throw queueFull(this.#queuedBytes, this.#options.maxQueuedBytes);
    }
    this.#queuedBytes += bytes;
    const promise = new Promise<number>(capture);
    const settle = { resolve: capturedResolve, reject: capturedReject };
    this.#queue.push({ stream, records, bytes, index, firstOffset, published, ...settle });
    this.#observer.pending(true);
    return promise;
  }

  #drainQueue(): void {
    this.#now = this.#options.clock.now();
    let drained = 0;
    for (const append of this.#queue) {
      if (append.index === 0) append.firstOffset = append.stream.nextOffset;
      append.index = this.#place(append.stream, append.records, append.index, append.published);
      if (append.index < append.records.length) break;
      this.#durability.push(append.resolve, append.reject, append.stream.streamId, append.firstOffset);
      this.#queuedBytes -= append.bytes;
      drained += 1;
    }
    this.#queue.splice(0, drained);
    if (this.producer.hasOpenBlock) this.#scheduleClose();
  }

  /**
   * Blocks close at the end of the tick. `nextTick` runs after all promise callbacks of the turn, so that everything
   * that was appended by continuations of one batch of acknowledgements shares the next block.
   */
  #scheduleClose(): void {
    if (this.#closeScheduled) return;
    this.#closeScheduled = true;
    this.#now = this.#options.clock.now();
    process.nextTick(this.#closeTick);
  }

  readonly #closeTick = (): void => {
    this.#closeScheduled = false;
    if (this.#failure === undefined) this.producer.closeBlock();
  };
}

function queueFull(queued: number, limit: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_QUEUE_FULL',
    `the ring is full and ${queued} bytes of appends wait: await earlier appends, or raise wal.maxQueuedBytes (${limit})`,
    { details: { queuedBytes: queued, maxQueuedBytes: limit } },
  );
}
