/**
 * The writing side of a store with a WAL: the lane with its ring, the WAL worker, and the flush that empties the ring
 * into segments.
 */
import { availableParallelism } from 'node:os';
import type { LaneAssignment } from '../wal/writer.ts';
import { memoryBehind } from '../base/page-memory.ts';
import type { Announcer } from '../base/channels.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import { FlushScheduler } from '../flush/scheduler.ts';
import type { JobRunner } from '../flush/job-runner.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import { logPosition, type RingGeometry } from '../ring/geometry.ts';
import type { LaneStart, SealedSlot } from '../ring/producer.ts';
import type { Compression } from '../record/stream-config.ts';
import { FillingAge } from '../stream/filling-age.ts';
import type { Followers } from '../stream/followers.ts';
import { Lane } from '../stream/lane.ts';
import { lookBeforeWaiting } from '../stream/look-durable.ts';
import { writeCleanMark } from '../wal/clean-mark.ts';
import type { RecoveredLane } from '../wal/recovery.ts';
import type { StoreEnvironment } from './environment.ts';
import type { Settings } from './options.ts';
import { recordBytesLimit } from './geometry.ts';
import { makeLane } from './producers/lane-files.ts';
import { type IdleLane, Producers, type ProducersHost } from './producers/producers.ts';
import type { StoreWriter, UnflushedMemory } from './store-writer.ts';
import { Trackers } from './trackers.ts';
import type { WalRunner } from './wal-runner.ts';

export interface LocalWriterOptions {
  readonly settings: Settings;
  readonly storeId: Uint8Array;
  readonly announcer: Announcer;
  readonly environment: StoreEnvironment;
  readonly walDirectory: string;
  readonly ring: SharedArrayBuffer;
  readonly geometry: RingGeometry;
  readonly maxRecordBytes: number;
  readonly recovered: RecoveredLane;
  /** Lanes of producers that an earlier opening made: all of their log is in segments. */
  readonly idleLanes: readonly IdleLane[];
  /** Next offset by stream id, recovered frames included. */
  readonly nextOffsets: Float64Array;
  readonly coordinator: Coordinator;
  readonly runner: JobRunner;
  readonly objects: ObjectStoreDescriptor;
  readonly compression: () => ReadonlyMap<number, Compression>;
  readonly followers: Followers;
}

const LANE = 0;
const PROCESSORS: number = availableParallelism();
const NOTHING_FLUSHED: LaneStart = { slotSequence: -1, blockSequence: -1 };
/** How long closing waits for producers: a thread that is busy all the while keeps nobody, for its log is durable. */
const PRODUCERS_PATIENCE = 5_000;

export class LocalWriter implements StoreWriter {
  readonly lane: Lane;
  readonly flush: FlushScheduler;
  readonly trackers: Trackers;
  readonly producers: Producers;
  readonly assignsOffsets = true;
  /** Called when a filling is committed. The store sets it. */
  onCommitted: () => void = () => undefined;
  readonly #options: LocalWriterOptions;
  readonly #wal: WalRunner;
  readonly #age: FillingAge;
  #closing = false;
  /** End of the last filling that was sealed here, as a log position. */
  #sealedEnd = 0;
  #mode: 'starting' | 'direct' | 'buffered' = 'starting';

  constructor(options: LocalWriterOptions) {
    this.#options = options;
    const { environment, settings, recovered, geometry, ring, storeId } = options;
    const { clock, timers } = environment;
    this.#wal = environment.makeWal();
    this.#age = new FillingAge(() => this.lane, settings.wal.flushInterval, timers);
    this.flush = new FlushScheduler({
      coordinator: options.coordinator,
      runner: options.runner,
      objects: options.objects,
      storeId,
      clock,
      compression: options.compression,
      relative: false,
      committed: (slot, _segment, _answer, { lane }) => {
        if (lane === LANE) this.lane.release(slot.slotSequence);
        else this.producers.released(lane, slot);
        this.onCommitted();
      },
      failed: (error) => {
        this.#flushFailed(error);
      },
      sleep: (milliseconds) => timers.sleep(milliseconds),
      announcer: options.announcer,
    });
    this.lane = new Lane(
      {
        ring,
        geometry,
        identity: { lane: LANE, storeId },
        start: recovered.start,
        released: recovered.released,
        doorbell: this.#wal.doorbell,
        waitDurable: this.#wal.waitDurable ?? lookBeforeWaiting(clock, () => this.#hasProcessor),
        followed: options.followers,
        clock,
        maxRecordBytes: options.maxRecordBytes,
        maxQueuedBytes: settings.wal.maxQueuedBytes,
      },
      {
        sealed: (slot) => {
          this.#sealed(slot);
        },
        durable: () => {
          this.#age.start();
          options.followers.wakeDurable(this.lane.memtable, this.lane.durableEnd);
        },
        pending: (waiting) => {
          this.#wal.keepAlive(waiting);
        },
      },
    );
    for (const { header, slotSequence, at } of recovered.frames) this.lane.recover(header, slotSequence, at);
    this.#wal.start(options.walDirectory, [assignmentOf(options)], {
      ready: (mode) => {
        this.#mode = mode;
      },
      failed: (error) => {
        this.fail(error);
      },
    });
    for (const slot of recovered.fillings) this.flush.add({ lane: LANE, ring, geometry }, slot, Promise.resolve());
    this.producers = new Producers(this.#producersHost(), options.idleLanes);
    this.trackers = new Trackers(options.coordinator, this.producers, environment, settings.tracking);
  }

  /** How writes become durable; `starting` until the WAL worker has probed its files. */
  get mode(): 'starting' | 'direct' | 'buffered' {
    return this.#mode;
  }

  /** Whether each thread that works has one: this one, the WAL worker, and those that flush. */
  get #hasProcessor(): boolean {
    return this.flush.counters.running + 2 <= PROCESSORS;
  }

  laneFor(streamId: number): Lane {
    this.producers.refuseHeld(streamId);
    return this.lane;
  }

  memoryOf(streamId: number): UnflushedMemory {
    return this.producers.viewOf(streamId) ?? this.lane;
  }

  /** Moves everything appended so far into segments. */
  async flushAll(): Promise<void> {
    // What a producer that is gone had closed is waited for in shared memory, which keeps no process alive.
    const release = this.#options.environment.timers.hold();
    try {
      await this.trackers.flush();
      await this.producers.seal(false);
      await this.#flushOwn();
    } finally {
      release();
    }
  }

  async #flushOwn(): Promise<void> {
    await this.lane.drained();
    this.lane.seal();
    await this.flush.drain();
  }

  /** Appends are refused from now on; what was acknowledged is safe. */
  fail(error: MillraceError): void {
    this.#age.stop();
    this.trackers.discard();
    const isFirst = this.lane.failure === undefined;
    this.lane.fail(error);
    this.producers.fail(error);
    if (isFirst) this.#options.announcer.tell('error', () => ({ where: 'writer' as const, error }));
  }

  /**
   * Flushes, then stops the WAL worker. Where the object store cannot be reached, what the WAL holds stays there, and
   * the next opening flushes it.
   */
  async close(): Promise<void> {
    this.#closing = true;
    try {
      if (this.lane.failure === undefined) await this.#flushLast();
    } finally {
      this.#age.stop();
      await this.#wal.stop();
      const { failure } = this.lane;
      const closed = new MillraceError('ERR_MILLRACE_CLOSED', 'the store was closed');
      this.lane.fail(closed);
      this.producers.fail(closed);
      if (failure === undefined) await this.#markClean();
    }
  }

  async #flushLast(): Promise<void> {
    const flushed = this.#flushEverything();
    this.flush.hurry();
    try {
      await flushed;
    } catch (error) {
      if (!isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE')) throw error;
      // Still waiting for a place in the ring are only appends that are refused with the same error.
    }
  }

  /** What producers do not end in time is found in the log by the next opening. */
  async #flushEverything(): Promise<void> {
    await this.trackers.flush();
    const { timers } = this.#options.environment;
    const release = timers.hold();
    const sealed = new AbortController();
    await Promise.race([this.producers.seal(true), timers.sleep(PRODUCERS_PATIENCE, sealed.signal)]).finally(() => {
      sealed.abort();
      release();
    });
    await this.#flushOwn();
  }

  #flushFailed(error: MillraceError): void {
    if (!this.#closing || error.code !== 'ERR_MILLRACE_UNAVAILABLE') {
      this.fail(error);
      return;
    }
    // What is in the ring is acknowledged first: only the way into segments is barred.
    this.lane.close();
    const { slotUsedBytes, logEnd } = this.lane.producer;
    const fail = (): void => {
      this.fail(error);
    };
    this.lane.whenDurable(slotUsedBytes > 0 ? logEnd : this.#sealedEnd).then(fail, fail);
  }

  /** The WAL worker has ended: when all of the log is in segments, the next opening need not read it. */
  async #markClean(): Promise<void> {
    const { producer } = this.lane;
    const { coordinator } = this.#options;
    const flushedSlots = await coordinator.flushedSlots();
    for (const { lane, start } of this.producers.cleanLanes()) {
      this.#markLane(lane, start, flushedSlots.find((slot) => slot.lane === lane) ?? NOTHING_FLUSHED);
    }
    const flushed = flushedSlots.find(({ lane }) => lane === LANE);
    if (flushed === undefined || producer.slotsInUse > 0 || producer.hasOpenBlock) return;
    const start = { slotSequence: producer.slotSequence, blockSequence: producer.blockSequence };
    this.#markLane(LANE, start, flushed);
  }

  #markLane(lane: number, start: LaneStart, flushed: LaneStart): void {
    const { environment, walDirectory, storeId } = this.#options;
    if (flushed.blockSequence !== start.blockSequence - 1) return;
    const place = { fileSystem: environment.fileSystem, directory: walDirectory, storeId, lane };
    try {
      writeCleanMark(place, { start, flushed });
    } catch {
      // All of the log is in segments: without the mark the next opening reads the slot files in vain, no more.
    }
  }

  #producersHost(): ProducersHost {
    const { environment, settings, storeId, followers, geometry } = this.#options;
    const { fileSystem } = environment;
    const { maxQueuedBytes, flushInterval } = settings.wal;
    return {
      own: () => this.lane,
      flush: this.flush,
      doorbell: this.#wal.bell,
      geometry,
      limits: { maxQueuedBytes, flushInterval },
      storeId,
      maxRecordBytes: (shape) => Math.min(this.#options.maxRecordBytes, recordBytesLimit(shape)),
      serve: async (lane, shape, start) => {
        const served = await makeLane({ ...this.#options, fileSystem, lane, geometry: shape, start });
        // The account of the WAL worker is one for all lanes.
        await this.#wal.addLane({
          ...served,
          memory: memoryBehind(served.ring),
          nextOffsets: new Float64Array(0),
        });
        return served;
      },
      flushOwn: () => this.#flushOwn(),
      publishers: {
        published: (...record) => {
          this.trackers.published(...record);
        },
        publisher: (...named) => this.trackers.publisher(...named),
      },
      followers,
    };
  }

  #sealed(slot: SealedSlot): void {
    this.#age.stop();
    this.#sealedEnd = logPosition(slot.slotSequence, slot.endPosition);
    const durable = this.lane.whenDurable(this.#sealedEnd);
    const { ring, geometry } = this.#options;
    this.flush.add({ lane: LANE, ring, geometry }, slot, durable, this.trackers.takeSnapshots());
  }
}

/** What the WAL worker is told of the lane. */
function assignmentOf({ ring, geometry, recovered, nextOffsets }: LocalWriterOptions): LaneAssignment {
  return { lane: LANE, ring, memory: memoryBehind(ring), geometry, start: recovered.start, nextOffsets };
}
