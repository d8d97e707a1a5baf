/**
 * A lane: one producer thread's way into the store. It encodes appends into the ring, closes blocks at the end of a
 * tick, settles acknowledgements when the WAL worker publishes durability, and lets appends wait while the ring is
 * full.
 */
import { alignUp } from '../base/bytes.ts';
import { Announcer } from '../base/channels.ts';
import type { Clock } from '../base/clock.ts';
import { capture, capturedReject, capturedResolve } from '../base/promise-ends.ts';
import type { MillraceError } from '../errors/millrace-error.ts';
import { BLOCK_BYTES_TARGET, MIB } from '../limits/limits.ts';
import { LatencyHistogram } from '../metrics/latency-histogram.ts';
import { type Followed, Memtable } from '../memtable/memtable.ts';
import { BLOCK_HEADER_BYTES } from '../ring/block-format.ts';
import type { Doorbell } from '../ring/doorbell.ts';
import { blockPayloadMax, logPosition, type RingGeometry, slotBase } from '../ring/geometry.ts';
import { type LaneIdentity, type LaneStart, RingProducer, type SealedSlot } from '../ring/producer.ts';
import {
  FRAME_ALIGNMENT,
  FRAME_HEADER_BYTES,
  FRAME_KIND,
  RECORD_HEADER_BYTES,
  recordBytes,
} from '../record/frame-format.ts';
import type { FrameHeader } from '../record/frame-reader.ts';
import type { PackedValues } from '../record/packed-values.ts';
import type { RecordInput, RecordValue } from '../record/record-input.ts';
import { checkRecord, checkTimestamp, valueRoom } from '../record/record-input.ts';
import { publisherExtensionBytes } from '../record/tracking-format.ts';
import { type Durability, type DurabilityObserver, type WaitDurable, WalDurability } from './durability.ts';
import { FrameAppender, type WritableStreamState } from './frame-appender.ts';
import { type Settle, type Turn, TurnQueue, type Waiting, WaitingTurn } from './turn-queue.ts';
import { beyondEnd, queueFull } from './lane-errors.ts';
import { groupOf, type PublishedBatch, type RecordGroup } from './record-group.ts';
import { QueuedAppend, type QueuedAppendLane, type Tick } from './queued-append.ts';

export interface LaneOptions {
  readonly ring: SharedArrayBuffer;
  readonly geometry: RingGeometry;
  readonly identity: LaneIdentity;
  readonly start: LaneStart;
  /** Fillings up to this one are free. */
  readonly released: number;
  readonly doorbell: Pick<Doorbell, 'ring'>;
  readonly clock: Clock;
  readonly maxRecordBytes: number;
  /** Bytes of appends that may wait, by reference, for a full ring. */
  readonly maxQueuedBytes: number;
  /** How the WAL worker's word is waited for. Default: in shared memory. */
  readonly waitDurable?: WaitDurable | undefined;
  /** Streams that readers follow. Default none. */
  readonly followed?: Followed;
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

/** Tracking frames that enter the log together, in one turn. */
export interface TrackingSource {
  /** The next frame's content; `undefined` when there is none left. Asked as its turn comes, not before. */
  next(): Uint8Array | undefined;
  /** The frame of the last `next` is in the log. */
  placed(): void;
}

const NO_CONTENT = new Uint8Array(0);

/** User bytes of waiting appends that are placed in one turn of the event loop: about a millisecond of copying. */
const DRAIN_SLICE_BYTES: number = 2 * MIB;

export class Lane {
  readonly memtable: Memtable;
  /** From the call of an append until it was durable; calls of one tick count from its beginning. */
  readonly latency: LatencyHistogram = new LatencyHistogram();
  readonly producer: RingProducer;
  readonly #options: LaneOptions;
  readonly #observer: LaneObserver;
  readonly #appender: FrameAppender;
  readonly #durability: Durability;
  readonly #queue = new TurnQueue();
  /** Log position one past the last closed block. */
  #closedEnd: number;
  /** User bytes that may still be placed in this turn of the event loop. */
  #slice = Infinity;
  #closeScheduled = false;
  #now = 0;
  #tick: Tick = { now: 0, start: 0 };
  /** Appends that the tick has placed. */
  #tickAppends = 0;
  /** Appends that waited and were placed last: in which tick they came, and how many. */
  #placedTick: Tick = this.#tick;
  #placedAppends = 0;
  #failure: MillraceError | undefined;

  constructor(options: LaneOptions, observer: LaneObserver) {
    this.#options = options;
    this.#observer = observer;
    this.memtable = new Memtable(options.ring, options.geometry, options.followed);
    const announcer = new Announcer(options.identity.storeId);
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
          announcer.tell('append', () => ({ blockSequence: nextBlock - 1 }));
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
      new WalDurability(this.producer.words, blockSequence, this.#closedEnd, durabilityObserver, options.waitDurable);
  }

  /** Log position up to which everything is durable. */
  get durableEnd(): number {
    return this.#durability.durableEnd;
  }

  /** Records written to the ring since the store was opened, and bytes of their keys and values. */
  get written(): { readonly records: number; readonly userBytes: number } {
    const { records, userBytes } = this.#appender;
    return { records, userBytes };
  }

  /** Bytes of appends that wait for room in the ring. */
  get queuedBytes(): number {
    return this.#queue.bytes;
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
    checkRecord(value, key === null ? 0 : key.length, this.#options.maxRecordBytes);
    if (timestamp !== undefined) checkTimestamp(timestamp);
    if (!this.#closeScheduled) this.#scheduleClose();
    const room = valueRoom(value);
    const offset = stream.nextOffset;
    if (this.#queue.length === 0 && this.#appender.append(stream, key, value, room, timestamp ?? this.#now)) {
      this.#tickAppends += 1;
      const promise = new Promise<number>(capture);
      this.#durability.push(capturedResolve, capturedReject, stream.streamId, offset);
      return promise;
    }
    const bytes = FRAME_HEADER_BYTES + recordBytes(key?.length ?? 0, room);
    this.#refuseFull(bytes);
    return this.#wait(new QueuedAppend(this.#queued, bytes, stream, value, key, timestamp, this.#tick));
  }

  /**
   * Appends many records with consecutive offsets; resolves with the first one when all are durable. They survive a
   * crash all or none when they fit one block (1 MiB encoded); otherwise a prefix may. They wait for room however many
   * others wait. Throws, with nothing done, when they are refused.
   */
  appendMany(
    stream: WritableStreamState,
    records: readonly RecordInput[] | PackedValues,
    published?: PublishedBatch,
  ): Promise<number> {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#closeScheduled) this.#scheduleClose();
    const group = groupOf(records, published);
    const bytes = this.#measure(group, published);
    const firstOffset = stream.nextOffset;
    if (group.length === 0) return Promise.resolve(firstOffset);
    if (this.#queue.length > 0 || !this.#makeRoom(bytes)) {
      if (published?.bounded === true) this.#refuseFull(bytes);
      return this.#enqueue(stream, group, bytes, 0, firstOffset);
    }
    const index = this.#place(stream, group, 0);
    if (index < group.length) return this.#enqueue(stream, group, bytes, index, firstOffset);
    this.#tickAppends += 1;
    const promise = new Promise<number>(capture);
    this.#durability.push(capturedResolve, capturedReject, stream.streamId, firstOffset);
    return promise;
  }

  /**
   * Writes tracking frames; resolves when they are durable. They wait for their turn, and are never refused for a full
   * queue: they are small, and written at a bounded rate.
   */
  async appendTracking(stream: WritableStreamState, source: TrackingSource): Promise<void> {
    const place = (): boolean => {
      const { nextOffset, epoch } = stream;
      for (let content = source.next(); content !== undefined; content = source.next()) {
        if (!this.#appender.appendControl(stream, FRAME_KIND.tracking, nextOffset, epoch, content)) return false;
        source.placed();
      }
      return true;
    };
    await this.#takeTurn({ place, placed: this.#settleDurable });
  }

  /**
   * The stream goes on at `nextOffset` under the next epoch; resolves when that is durable. Nothing changes before its
   * turn: what was appended earlier keeps its offsets. `placed` is called as it enters the log. Rejects when the stream
   * ends below `nextOffset` by then.
   */
  async truncate(stream: WritableStreamState, nextOffset: number, placed: (epoch: number) => void): Promise<void> {
    const place = (): boolean => {
      if (nextOffset > stream.nextOffset) throw beyondEnd(nextOffset, stream.nextOffset);
      const epoch = stream.epoch + 1;
      if (!this.#appender.appendControl(stream, FRAME_KIND.truncation, nextOffset, epoch, NO_CONTENT)) return false;
      stream.nextOffset = nextOffset;
      stream.epoch = epoch;
      placed(epoch);
      return true;
    };
    await this.#takeTurn({ place, placed: this.#settleDurable });
  }

  /** Resolves when everything appended so far is durable. */
  async barrier(): Promise<void> {
    await this.#takeTurn({ place: () => true, placed: this.#settleDurable });
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

  /** Resolves when everything appended so far is in the ring; rejects when the lane fails. */
  async drained(): Promise<void> {
    const placed = ({ resolve }: Settle): void => {
      resolve(0);
    };
    await this.#takeTurn({ place: () => true, placed });
  }

  /** A flushed filling is free: forgets its frames and lets waiting appends go on. */
  release(slotSequence: number): void {
    this.memtable.dropThrough(slotSequence);
    this.producer.release(slotSequence);
    if (this.#failure === undefined) this.#drainQueue();
  }

  /** Fail stop: rejects everything that waits and everything to come. Reads go on. */
  fail(error: MillraceError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    const queued = this.#queue.clear();
    this.#durability.fail(error);
    for (const { reject } of queued) reject(error);
  }

  #measure(group: RecordGroup, published: PublishedBatch | undefined): number {
    const extensionBytes = published === undefined ? 0 : publisherExtensionBytes(published.tag.reference.length);
    return group.measure({ maxRecordBytes: this.#options.maxRecordBytes, now: this.#now, extensionBytes });
  }

  /** Whether a group of `bytes` enters the log in one block, so that a crash keeps all of it or none. */
  #fitsBlock(bytes: number): boolean {
    return bytes <= Math.min(BLOCK_BYTES_TARGET, blockPayloadMax(this.#options.geometry, BLOCK_HEADER_BYTES));
  }

  /** Opens a block that takes all of a group, if a block can; false when the ring is full. */
  #makeRoom(bytes: number): boolean {
    return !this.#fitsBlock(bytes) || this.producer.reserve(alignUp(bytes, FRAME_ALIGNMENT)) >= 0;
  }

  /** Writes records from `index` on; returns the index of the first that found the ring full. */
  #place(stream: WritableStreamState, group: RecordGroup, index: number): number {
    if (this.#slice <= 0) return index;
    const before = stream.userBytes;
    const next = group.place(this.#appender, stream, index, this.#now, this.#slice);
    this.#slice -= stream.userBytes - before + (next - index) * RECORD_HEADER_BYTES;
    return next;
  }

  /** The first one may wait whatever its size. */
  #refuseFull(bytes: number): void {
    const { bytes: queued } = this.#queue;
    const { maxQueuedBytes } = this.#options;
    if (queued > 0 && queued + bytes > maxQueuedBytes) throw queueFull(queued, maxQueuedBytes);
  }

  /** Records from `index` on wait. `firstOffset` holds unless none of them is written yet. */
  #enqueue(
    stream: WritableStreamState,
    group: RecordGroup,
    bytes: number,
    index: number,
    firstOffset: number,
  ): Promise<number> {
    let [next, first] = [index, firstOffset];
    const waiting = group.held();
    const place = (): boolean => {
      if (this.#slice <= 0 || (next === 0 && !this.#makeRoom(bytes))) return false;
      if (next === 0) first = stream.nextOffset;
      const slice = this.#slice;
      // A slice may end between groups, never inside one that shares a block.
      if (this.#fitsBlock(bytes)) this.#slice = Infinity;
      next = this.#place(stream, waiting, next);
      if (this.#fitsBlock(bytes)) this.#slice = slice - bytes;
      return next === waiting.length;
    };
    const since = this.#options.clock.monotonic();
    const placed = ({ resolve, reject }: Settle): void => {
      this.#durability.push(this.#timed(resolve, since), reject, stream.streamId, first);
    };
    return this.#wait(new WaitingTurn({ place, placed }, bytes));
  }

  readonly #queued: QueuedAppendLane = {
    place: ({ stream, value, key, timestamp, tick, bytes }) => {
      if (this.#slice <= 0) return false;
      if (!this.#appender.append(stream, key, value, valueRoom(value), timestamp ?? tick.now)) return false;
      this.#slice -= bytes;
      return true;
    },
    placed: ({ stream, tick, resolve, reject }, offset) => {
      if (tick !== this.#placedTick) {
        this.#measurePlaced();
        this.#placedTick = tick;
      }
      this.#placedAppends += 1;
      this.#durability.push(resolve, reject, stream.streamId, offset);
    },
  };

  /** `resolve`, and the latency of what came at `since`. */
  #timed(resolve: (offset: number) => void, since: number): (offset: number) => void {
    return (offset) => {
      this.latency.record(this.#options.clock.monotonic() - since);
      resolve(offset);
    };
  }

  /** Does something small in its turn: at once, or behind what waits for room already. */
  #takeTurn(turn: Turn): Promise<number> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#queue.length > 0) return this.#wait(new WaitingTurn(turn, 0));
    this.#scheduleClose();
    try {
      if (!turn.place()) return this.#wait(new WaitingTurn(turn, 0));
    } catch (error) {
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      turn.placed({ resolve, reject });
    });
  }

  #wait(waiting: Waiting): Promise<number> {
    // Told once, not for each of the thousands that wait.
    if (this.#queue.length === 0) this.#observer.pending(true);
    return this.#queue.add(waiting);
  }

  /** Settles once everything that is in the log by now is durable. */
  readonly #settleDurable = ({ resolve, reject }: Settle): void => {
    if (this.producer.hasOpenBlock) {
      this.#durability.push(resolve, reject, 0, 0);
      return;
    }
    this.whenDurable(this.#closedEnd).then(() => {
      resolve(0);
    }, reject);
  };

  /** Slice by slice: filling a whole slot at once would hold up the thread for tens of milliseconds. */
  readonly #drainQueue = (): void => {
    if (this.#failure !== undefined) return;
    this.#now = this.#options.clock.now();
    this.#slice = DRAIN_SLICE_BYTES;
    this.#queue.drain();
    const more = this.#slice <= 0 && this.#queue.length > 0;
    this.#slice = Infinity;
    this.#measurePlaced();
    if (this.producer.hasOpenBlock) this.#scheduleClose();
    if (more) setImmediate(this.#drainQueue);
  };

  /**
   * Blocks close at the end of the tick. `nextTick` runs after all promise callbacks of the turn, so that everything
   * that was appended by continuations of one batch of acknowledgements shares the next block.
   */
  #scheduleClose(): void {
    if (this.#closeScheduled) return;
    this.#closeScheduled = true;
    this.#now = this.#options.clock.now();
    this.#tick = { now: this.#now, start: this.#options.clock.monotonic() };
    process.nextTick(this.#closeTick);
  }

  readonly #closeTick = (): void => {
    this.#closeScheduled = false;
    if (this.#failure !== undefined) return;
    if (this.#tickAppends > 0) this.#measureTick();
    this.producer.closeBlock();
  };

  #measureTick(): void {
    this.#recordLatency(this.#tick.start, this.#tickAppends);
    this.#tickAppends = 0;
  }

  #measurePlaced(): void {
    if (this.#placedAppends > 0) this.#recordLatency(this.#placedTick.start, this.#placedAppends);
    this.#placedAppends = 0;
  }

  /** One clock reading for all appends of a tick: one for each would cost a good part of the append itself. */
  #recordLatency(since: number, appends: number): void {
    const resolve = (): void => {
      this.latency.record(this.#options.clock.monotonic() - since, appends);
    };
    this.#settleDurable({ resolve, reject: () => undefined });
  }
}
