/** The producers of a store: which lanes there are, who has them, and which streams they hold. */
import { MessageChannel } from 'node:worker_threads';
import { MillraceError } from '../../errors/millrace-error.ts';
import { checkOptionNames } from '../../errors/option-names.ts';
import type { FlushScheduler } from '../../flush/scheduler.ts';
import type { Followers } from '../../stream/followers.ts';
import { PRODUCERS_MAX, SLOT_BYTES_MAX, SLOT_BYTES_MIN, SLOTS_MAX, SLOTS_MIN } from '../../limits/limits.ts';
import { geometryProblem, type RingGeometry } from '../../ring/geometry.ts';
import type { LaneStart, SealedSlot } from '../../ring/producer.ts';
import type { WritableStreamState } from '../../stream/frame-appender.ts';
import type { Lane, TrackingSource } from '../../stream/lane.ts';
import type { StreamOptions } from '../../stream/stream-options.ts';
import { sameGeometry } from '../geometry.ts';
import { invalid, optional } from '../../errors/argument-checks.ts';
import { sourceOf } from './guest.ts';
import { CLAIM_BYTES, type LaneHandover, ProducerHandle, type ProducerOptions } from './handle.ts';
import { ProducerHost, type PublisherMarks, type ServedLane, type StreamRequest } from './host.ts';
import type { LaneView } from './lane-view.ts';

/** A lane whose files are there and hold nothing that is in no segment. */
export interface IdleLane {
  readonly lane: number;
  readonly geometry: RingGeometry;
  readonly start: LaneStart;
}

/** What producers need of the store. */
export interface ProducersHost {
  readonly own: () => Lane;
  readonly flush: FlushScheduler;
  readonly doorbell: SharedArrayBuffer;
  readonly geometry: RingGeometry;
  readonly limits: Pick<LaneHandover, 'maxQueuedBytes' | 'flushInterval'>;
  readonly storeId: Uint8Array;
  readonly maxRecordBytes: (geometry: RingGeometry) => number;
  /** Makes the files of a lane where there are none, and has the WAL worker serve it. */
  readonly serve: (lane: number, geometry: RingGeometry, start: LaneStart | undefined) => Promise<ServedLane>;
  /** Everything appended to the store's own lane is in segments when this resolves. */
  readonly flushOwn: () => Promise<void>;
  readonly publishers: PublisherMarks;
  readonly followers: Followers;
}

/** A producer, for `stats()`. */
export interface ProducerStats {
  readonly lane: number;
  readonly slots: number;
  readonly slotBytes: number;
  /** Slots that hold records which are in no segment yet. */
  readonly slotsInUse: number;
  /** Streams that the producer has. */
  readonly streams: number;
}

const OPTION_NAMES = new Set(['slots', 'slotBytes']);

interface Holder {
  readonly name: string;
  readonly host: ProducerHost;
  /** The stream is on its way from the store's own lane; `undefined` once it has arrived. */
  moving: Promise<unknown> | undefined;
}

export class Producers {
  readonly #host: ProducersHost;
  readonly #lanes = new Map<number, { readonly lane: ServedLane; host: ProducerHost | undefined }>();
  /** On disk only. */
  readonly #idle: Map<number, IdleLane>;
  readonly #holders = new Map<number, Holder>();
  /** Opens a stream for a producer, which `take` gives it before it can be deleted. The store sets it. */
  openStream:
    | (<Taken>(name: string, options: StreamOptions, take: (state: WritableStreamState) => Taken) => Promise<Taken>)
    | undefined;
  #closed: MillraceError | undefined;
  /** Lanes are made one after the other. */
  #making: Promise<unknown> = Promise.resolve();

  constructor(host: ProducersHost, idle: readonly IdleLane[]) {
    this.#host = host;
    this.#idle = new Map(idle.map((lane) => [lane.lane, lane]));
  }

  /** Makes a lane for another thread. */
  create(options: ProducerOptions): Promise<ProducerHandle> {
    const made = this.#making.then(() => this.#create(options));
    this.#making = made.catch(() => undefined);
    return made;
  }

  /** Throws `ERR_MILLRACE_STREAM_HELD` when a producer has the stream. */
  refuseHeld(streamId: number): void {
    const holder = this.#holders.get(streamId);
    if (holder !== undefined) throw held(holder.name);
  }

  /** Whether a producer has the stream. */
  holds(streamId: number): boolean {
    return this.#holders.has(streamId);
  }

  /** Whether the store's own lane has nothing to flush. */
  ownIsEmpty(): boolean {
    return this.#host.own().producer.slotUsedBytes === 0;
  }

  /** Where a stream that a producer has can be read; `undefined` when the store's own lane has it. */
  viewOf(streamId: number): LaneView | undefined {
    if (this.#holders.size === 0) return undefined;
    const holder = this.#holders.get(streamId);
    if (holder === undefined || holder.moving !== undefined) return undefined;
    holder.host.look();
    return holder.host.view;
  }

  /** Writes tracking of a stream through whoever has it. */
  track(stream: WritableStreamState, source: TrackingSource): Promise<void> {
    const holder = this.#holders.get(stream.streamId);
    if (holder === undefined) return this.#host.own().appendTracking(stream, source);
    const again = (): Promise<void> => this.track(stream, source);
    // In the store's own lane it could come behind the last filling that the stream has there.
    if (holder.moving !== undefined) return holder.moving.then(again, again);
    return this.#trackThere(holder.host, stream, source);
  }

  /** A filling of a producer is in a segment. */
  released(lane: number, slot: SealedSlot): void {
    this.#lanes.get(lane)?.host?.release(slot);
  }

  /** Ends what producers have in their rings, for the flush to take. */
  async seal(last: boolean): Promise<void> {
    await Promise.all(this.#hosts().map((host) => host.seal(last)));
  }

  /** Nothing more becomes durable. */
  fail(error: MillraceError): void {
    this.#closed ??= error;
    for (const host of this.#hosts()) host.fail(error);
  }

  /** Lanes whose whole log is in segments. */
  cleanLanes(): IdleLane[] {
    const served = [...this.#lanes.values()].flatMap(({ lane, host }) => {
      const start = host === undefined ? lane.start : host.cleanStart;
      return start === undefined ? [] : [{ lane: lane.lane, geometry: lane.geometry, start }];
    });
    return [...served, ...this.#idle.values()];
  }

  stats(): ProducerStats[] {
    return [...this.#lanes.values()].flatMap(({ lane, host }) => {
      if (host === undefined) return [];
      return [{ lane: lane.lane, ...lane.geometry, slotsInUse: host.slotsInUse, streams: host.streams }];
    });
  }

  #check(): void {
    if (this.#closed !== undefined) throw this.#closed;
  }

  #hosts(): ProducerHost[] {
    return [...this.#lanes.values()].flatMap(({ host }) => (host === undefined ? [] : [host]));
  }

  async #create(options: ProducerOptions): Promise<ProducerHandle> {
    this.#check();
    checkOptionNames(options, OPTION_NAMES, 'store.producer');
    const own = this.#host.geometry;
    const slots = optional('slots', options.slots, SLOTS_MIN, SLOTS_MAX) ?? own.slots;
    const slotBytes = optional('slotBytes', options.slotBytes, SLOT_BYTES_MIN, SLOT_BYTES_MAX) ?? own.slotBytes;
    const geometry = { slots, slotBytes };
    const problem = geometryProblem(geometry);
    if (problem !== undefined)
      throw invalid(`options slots ${geometry.slots}, slotBytes ${geometry.slotBytes}: ${problem}`);
    const lane = await this.#laneOf(geometry);
    this.#check();
    const { port1, port2 } = new MessageChannel();
    const entry = { lane, host: undefined as ProducerHost | undefined };
    entry.host = new ProducerHost({
      lane,
      port: port1,
      doorbell: this.#host.doorbell,
      flush: this.#host.flush,
      grant: (request, to) => this.#grant(request, to),
      ungrant: (streamId) => this.#holders.delete(streamId),
      publishers: this.#host.publishers,
      followers: this.#host.followers,
      ended: () => {
        entry.host = undefined;
      },
    });
    this.#lanes.set(lane.lane, entry);
    const { limits, storeId, doorbell } = this.#host;
    return new ProducerHandle(port2, {
      ring: lane.ring,
      geometry,
      identity: { lane: lane.lane, storeId },
      start: lane.start,
      released: lane.released,
      doorbell,
      maxRecordBytes: this.#host.maxRecordBytes(geometry),
      ...limits,
      claim: new SharedArrayBuffer(CLAIM_BYTES),
    });
  }

  /** A lane that is free, or another one. Files of another shape are left for producers that ask for theirs. */
  async #laneOf(geometry: RingGeometry): Promise<ServedLane> {
    for (const { lane, host } of this.#lanes.values()) {
      if (host === undefined && sameGeometry(lane.geometry, geometry)) return lane;
    }
    const idle = [...this.#idle.values()].find((lane) => sameGeometry(lane.geometry, geometry));
    let number = idle?.lane ?? 1;
    while (idle === undefined && (this.#lanes.has(number) || this.#idle.has(number))) number += 1;
    if (number > PRODUCERS_MAX) {
      throw new MillraceError(
        'ERR_MILLRACE_TOO_MANY_PRODUCERS',
        `the store has ${PRODUCERS_MAX} producers, which is the most it may have: close one first`,
        { details: { limit: PRODUCERS_MAX } },
      );
    }
    const lane = await this.#host.serve(number, geometry, idle?.start);
    this.#idle.delete(number);
    this.#lanes.set(number, { lane, host: undefined });
    return lane;
  }

  async #grant({ name, options }: StreamRequest, host: ProducerHost): Promise<WritableStreamState> {
    this.#check();
    const taken = await this.openStream?.(name, options, (state) => {
      this.refuseHeld(state.streamId);
      const holder: Holder = { name, host, moving: undefined };
      holder.moving = this.#leaveOwnLane(state);
      this.#holders.set(state.streamId, holder);
      return { state, holder };
    });
    if (taken === undefined) throw new MillraceError('ERR_MILLRACE_CLOSED', 'the store was closed');
    const { state, holder } = taken;
    try {
      await holder.moving;
      holder.moving = undefined;
      return state;
    } catch (error) {
      this.#holders.delete(state.streamId);
      throw error;
    }
  }

  /**
   * What a stream has in no segment lies in one lane at any time: so lanes are recovered, and flushed, in any order.
   * A stream that nothing was ever appended to has nothing to leave behind.
   */
  async #leaveOwnLane(stream: WritableStreamState): Promise<void> {
    // What waits for room in the ring is counted when it enters it.
    await this.#host.own().drained();
    const { nextOffset, userBytes, trackingBytes, epoch } = stream;
    if (nextOffset + userBytes + trackingBytes + epoch > 0) await this.#host.flushOwn();
  }

  async #trackThere(host: ProducerHost, stream: WritableStreamState, source: TrackingSource): Promise<void> {
    const left = await host.track(stream.streamId, source);
    // The producer died: the stream is the store's own again.
    if (left !== undefined) await this.#host.own().appendTracking(stream, sourceOf(left));
  }
}

/** The error for a stream that another lane has. */
function held(name: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_STREAM_HELD',
    `${name} is held by a producer in another thread: append there, or have it call release() first`,
    { details: { stream: name } },
  );
}
