/**
 * One producer's lane as the store's thread keeps it: grants streams to it, gives what it has made durable to readers
 * and to the flush, and takes everything back when the producer has closed or its thread has died.
 */
import type { MessagePort } from 'node:worker_threads';
import { assert } from '../../base/assert.ts';
import { isMillraceError, MillraceError, packError } from '../../errors/millrace-error.ts';
import type { FlushLane, FlushScheduler } from '../../flush/scheduler.ts';
import type { Followers } from '../../stream/followers.ts';
import { TRACKING_ENTRY, type TrackingEntry } from '../../record/tracking-format.ts';
import { trackingIn } from '../../record/tracking-frames.ts';
import type { PublisherMark } from '../../record/tracking-state.ts';
import { Doorbell } from '../../ring/doorbell.ts';
import type { LaneStart, SealedSlot } from '../../ring/producer.ts';
import type { WritableStreamState } from '../../stream/frame-appender.ts';
import type { TrackingSource } from '../../stream/lane.ts';
import { PortCalls } from '../../thread/port-calls.ts';
import type { GrantedStream, ProducerRequest, StoreRequest } from './handle.ts';
import { LaneView } from './lane-view.ts';

/** A lane whose files the WAL worker has open. */
export interface ServedLane extends FlushLane {
  /** Where its log goes on. */
  start: LaneStart;
  /** Fillings up to this one are free. */
  released: number;
}

/** What the store knows of the publishers of streams that producers have. */
export interface PublisherMarks {
  /** A publisher's record is durable. */
  published(streamId: number, reference: string, publishingId: number, offset: number): void;
  /** Its latest record. */
  publisher(streamId: number, reference: string): PublisherMark | undefined;
}

export type StreamRequest = Extract<ProducerRequest, { type: 'stream' }>;

export interface ProducerHostOptions {
  readonly lane: ServedLane;
  readonly port: MessagePort;
  readonly doorbell: SharedArrayBuffer;
  readonly flush: FlushScheduler;
  /** Opens the stream and takes it from the store's own lane; everything that was appended to it is in segments. */
  readonly grant: (request: StreamRequest, to: ProducerHost) => Promise<WritableStreamState>;
  /** The stream is the store's own again. */
  readonly ungrant: (streamId: number) => void;
  readonly publishers: PublisherMarks;
  readonly followers: Followers;
  /** The lane is free. */
  readonly ended: () => void;
}

export class ProducerHost {
  readonly view: LaneView;
  readonly #options: ProducerHostOptions;
  readonly #calls: PortCalls<StoreRequest, ProducerRequest>;
  readonly #held = new Map<number, WritableStreamState>();
  #attached = false;
  #failure: MillraceError | undefined;
  /** The lane is free, and may be another producer's already. */
  #over = false;
  /** The end of the lane: by the producer's wish, or since it is gone. */
  #ending: Promise<void> | undefined;

  constructor(options: ProducerHostOptions) {
    this.#options = options;
    const { ring, geometry, start } = options.lane;
    this.view = new LaneView(ring, geometry, start, options.followers, {
      frame: (header, view, at) => {
        const { streamId, firstOffset, offsetSpan, userBytes, frameBytes, extensionBytes } = header;
        const state = this.#held.get(streamId);
        if (state === undefined) return;
        state.nextOffset = firstOffset + offsetSpan;
        state.userBytes += userBytes;
        state.trackingBytes += offsetSpan === 0 ? frameBytes : extensionBytes;
        if (extensionBytes > 0) this.#published(trackingIn(view, at, header), streamId);
      },
      ended: (slot) => {
        options.flush.add(options.lane, slot, Promise.resolve());
      },
    });
    this.#calls = new PortCalls(options.port, {
      handle: (request) => this.#handle(request),
      gone: () => {
        this.#ending ??= this.#takeBack();
        this.#ending.catch(() => undefined);
      },
    });
    void this.#watch();
  }

  /** Streams that the producer has. */
  get streams(): number {
    return this.#held.size;
  }

  /** Fillings that are not in segments yet. */
  get slotsInUse(): number {
    return this.view.slotSequence - this.#options.lane.released - (this.view.isFilling ? 0 : 1);
  }

  /** A filling is in a segment. */
  release(slot: SealedSlot): void {
    this.view.memtable.dropThrough(slot.slotSequence);
    this.#options.lane.released = slot.slotSequence;
    this.#calls.tell({ type: 'released', slotSequence: slot.slotSequence });
  }

  /** Where the log goes on when all of it is in segments. */
  get cleanStart(): LaneStart | undefined {
    const { slotSequence, nextBlock, isFilling } = this.view;
    const isClean = this.view.caughtUp && !isFilling && this.#options.lane.released === slotSequence - 1;
    return isClean ? { slotSequence, blockSequence: nextBlock } : undefined;
  }

  /**
   * Takes in what has become durable. Also before each read: whoever was told of an acknowledgement by the producer may
   * read here before this thread was woken.
   */
  look(): void {
    const before = this.view.nextBlock;
    this.view.look();
    if (this.view.nextBlock !== before) this.#options.followers.wakeDurable(this.view.memtable, this.view.durableEnd);
  }

  /** Ends what the producer has in its ring, for the flush to take. With `last`, it takes no appends any more. */
  async seal(last: boolean): Promise<void> {
    if (this.#ending === undefined && this.#attached) {
      try {
        await this.#calls.call({ type: last ? 'closing' : 'seal' });
      } catch (error) {
        // Gone meanwhile: what it has left behind is taken over.
        if (!isMillraceError(error, 'ERR_MILLRACE_CLOSED')) throw error;
      }
    }
    this.look();
    await this.#ending;
  }

  /** Writes tracking of a stream that the producer has; rejects with `ERR_MILLRACE_CLOSED` when it is gone. */
  async track(streamId: number, source: TrackingSource): Promise<Uint8Array[] | undefined> {
    const contents: Uint8Array[] = [];
    for (let content = source.next(); content !== undefined; content = source.next()) {
      contents.push(content);
      source.placed();
    }
    try {
      await this.#calls.call({ type: 'track', streamId, contents });
      return undefined;
    } catch (error) {
      if (!isMillraceError(error, 'ERR_MILLRACE_CLOSED') || this.#failure !== undefined) throw error;
      await this.#ending;
      return contents;
    }
  }

  /** Nothing more becomes durable. */
  fail(error: MillraceError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#calls.tell({ type: 'failed', error: packError(error, 'ERR_MILLRACE_WORKER_DIED') });
    this.#calls.close();
    this.view.words.wake();
  }

  #published(entries: readonly TrackingEntry[], streamId: number): void {
    for (const entry of entries) {
      if (entry.type !== TRACKING_ENTRY.publisher) continue;
      this.#options.publishers.published(streamId, entry.reference, entry.publishingId, entry.offset);
    }
  }

  async #handle(request: ProducerRequest): Promise<GrantedStream | PublisherMark | undefined> {
    switch (request.type) {
      case 'attached':
        this.#attached = true;
        return undefined;
      case 'sealed':
        this.look();
        return undefined;
      case 'stream': {
        const state = await this.#options.grant(request, this);
        if (this.#ending !== undefined) {
          this.#options.ungrant(state.streamId);
          throw new MillraceError('ERR_MILLRACE_CLOSED', 'the producer was closed');
        }
        this.#held.set(state.streamId, state);
        const { streamId, nextOffset, epoch } = state;
        return { streamId, name: request.name, nextOffset, epoch };
      }
      case 'publisher':
        // What this producer has published before is known when all that is durable was seen.
        this.look();
        return this.#options.publishers.publisher(request.streamId, request.reference);
      case 'release':
        this.look();
        await this.#options.flush.drain();
        this.#giveBack(request.streamId);
        return undefined;
      case 'close':
        this.#ending ??= this.#end();
        await this.#ending;
        return undefined;
    }
  }

  /** All of the lane is durable and in fillings that have ended. */
  async #end(): Promise<void> {
    this.look();
    await this.#options.flush.drain();
    for (const streamId of [...this.#held.keys()]) this.#giveBack(streamId);
    const { lane } = this.#options;
    lane.start = { slotSequence: this.view.slotSequence, blockSequence: this.view.nextBlock };
    assert(!this.view.isFilling && lane.released === lane.start.slotSequence - 1, 'a lane ends empty');
    this.#over = true;
    this.view.words.wake();
    this.#options.ended();
  }

  /** The producer is gone: what it closed becomes durable all the same; what it had not, nobody was told of. */
  async #takeBack(): Promise<void> {
    // Looks first, asks then: behind the last closed block nothing more becomes durable, and a wait would never end.
    this.look();
    while (!this.view.caughtUp && this.#failure === undefined) {
      await this.view.words.waitDurable(this.view.nextBlock);
      this.look();
    }
    if (this.#failure !== undefined) return;
    this.view.endFilling();
    new Doorbell(this.#options.doorbell).ring();
    await this.#end();
  }

  #giveBack(streamId: number): void {
    this.#held.delete(streamId);
    this.#options.ungrant(streamId);
  }

  /** Looks whenever the WAL worker has made more durable. */
  async #watch(): Promise<void> {
    const { words } = this.view;
    while (this.#failure === undefined && !this.#over) {
      this.look();
      await words.waitDurable(this.view.nextBlock);
    }
  }
}
