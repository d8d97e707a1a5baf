/**
 * A store of one stream without threads, disk or waiting: the production ring, memtable, tracker, flush, coordinator,
 * retention and compaction, over objects in memory and a clock that moves by hand. Only the WAL worker is missing:
 * blocks count as durable when they are closed.
 */
import { join } from 'node:path';
import { ManualClock, SteadyTime } from '../../src/base/clock.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { CompactionAgent } from '../../src/compaction/agent.ts';
import { runRewriteJob } from '../../src/compaction/rewrite.ts';
import { compactionSettings } from '../../src/compaction/settings.ts';
import type { StreamTotals } from '../../src/coordinator/coordinator.ts';
import { type EmbeddedCoordinator, openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { runFlushJob } from '../../src/flush/flush-job.ts';
import { FlushScheduler } from '../../src/flush/scheduler.ts';
import { MIB } from '../../src/limits/limits.ts';
import { Memtable } from '../../src/memtable/memtable.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import { FRAME_KIND } from '../../src/record/frame-format.ts';
import { TrackingState } from '../../src/record/tracking-state.ts';
import { allocateDoorbell, Doorbell } from '../../src/ring/doorbell.ts';
import { allocateRing } from '../../src/ring/geometry.ts';
import { RingProducer } from '../../src/ring/producer.ts';
import { Janitor } from '../../src/store/janitor.ts';
import { Trimming } from '../../src/store/trimming.ts';
import { FrameAppender, type WritableStreamState } from '../../src/stream/frame-appender.ts';
import type { TrackingSource } from '../../src/stream/lane.ts';
import { StreamTracker } from '../../src/stream/tracker.ts';
import { holdsBelow } from '../../src/stream/tracking-loader.ts';
import type { TrackingSettings } from '../../src/stream/tracking-policy.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { Timers } from './timers.ts';

/** What may be switched off. */
export interface StoreSettings {
  readonly tracking: TrackingSettings;
  readonly retentionBytes: number;
  readonly flushInterval: number;
  /** Snapshots of the tracking state. */
  readonly snapshots: boolean;
  /** Chunk compaction and merges. */
  readonly compaction: boolean;
}

/** Jobs run in place and know the objects: nobody opens them anew. */
const NOWHERE = { module: '', options: {} };
const GEOMETRY = { slots: 4, slotBytes: 8 * MIB };
const STORE_ID = new Uint8Array(16).fill(7);
const LANE = 0;
const START = 1_700_000_000_000;

/** Work whose pauses nobody waits for: a pause of the background ends when it is aborted. */
const sleep = (_milliseconds: number, signal?: AbortSignal): Promise<void> => {
  if (signal === undefined || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
};

export class SimulatedStore {
  readonly clock: ManualClock = new ManualClock(START);
  readonly coordinator: EmbeddedCoordinator;
  readonly stream: WritableStreamState;
  readonly tracker: StreamTracker;
  readonly #settings: StoreSettings;
  readonly #objects: MemoryObjectStore;
  readonly #timers: Timers;
  readonly #producer: RingProducer;
  readonly #memtable: Memtable;
  readonly #appender: FrameAppender;
  readonly #flush: FlushScheduler;
  readonly #janitor: Janitor;
  readonly #agent: CompactionAgent;
  /** When the open filling began; `undefined` while it is empty. */
  #fillingSince: number | undefined;

  static async open(settings: StoreSettings): Promise<SimulatedStore> {
    const clock = new ManualClock(START);
    const coordinator = await openEmbeddedCoordinator({
      fileSystem: new SimulatedDisk({ directories: [join('/', 'wal')] }),
      directory: join('/', 'wal', 'manifest'),
      storeId: STORE_ID,
      clock,
      random: new SeededRandom(1),
    });
    const retention = { maxBytes: settings.retentionBytes };
    const { stream } = await coordinator.createStream('events', { compression: 'lz4', cleanup: 'delete', retention });
    return new SimulatedStore(settings, coordinator, clock, stream.streamId);
  }

  private constructor(settings: StoreSettings, coordinator: EmbeddedCoordinator, clock: ManualClock, streamId: number) {
    this.#settings = settings;
    this.clock = clock;
    this.coordinator = coordinator;
    this.stream = { streamId, nextOffset: 0, epoch: 0, userBytes: 0, trackingBytes: 0 };
    this.#objects = new MemoryObjectStore(clock);
    this.#timers = new Timers(clock);
    const ring = allocateRing(GEOMETRY);
    const start = { slotSequence: 0, blockSequence: 0 };
    const identity = { lane: LANE, storeId: STORE_ID };
    this.#producer = new RingProducer(ring, GEOMETRY, identity, start, -1, new Doorbell(allocateDoorbell()), {
      closing: () => {
        this.#appender.finish();
      },
      closed: () => undefined,
      sealed: (slot) => {
        this.#fillingSince = undefined;
        const snapshots = settings.snapshots ? this.#takeSnapshot() : new Map();
        this.#flush.add({ lane: LANE, ring, geometry: GEOMETRY }, slot, Promise.resolve(), snapshots);
      },
    });
    this.#memtable = new Memtable(ring, GEOMETRY);
    this.#appender = new FrameAppender(ring, this.#producer, this.#memtable);
    this.#flush = this.#makeFlush();
    this.tracker = this.#makeTracker();
    const trimming = this.#makeTrimming();
    this.#janitor = new Janitor(coordinator, this.#objects, trimming, new SteadyTime(clock));
    this.#agent = this.#makeAgent();
  }

  append(value: Uint8Array, room: number): void {
    if (!this.#appender.append(this.stream, null, value, room, this.clock.now())) throw new Error('the ring is full');
    this.#producer.closeBlock();
    this.#fillingSince ??= this.clock.monotonic();
  }

  /** Lets time pass, and does what comes due in it: deltas, and a flush. */
  async advance(milliseconds: number): Promise<void> {
    this.#timers.advance(milliseconds);
    if (this.clock.monotonic() - (this.#fillingSince ?? Infinity) >= this.#settings.flushInterval) {
      this.#producer.sealSlot();
    }
    await this.#flush.drain();
  }

  /** Retention, and objects whose grace has passed. */
  async clean(): Promise<void> {
    await this.#janitor.round();
  }

  async compact(): Promise<void> {
    if (this.#settings.compaction) await this.#agent.compact();
  }

  totals(): Promise<StreamTotals> {
    return this.coordinator.streamTotals(this.stream.streamId);
  }

  /** User bytes that are in no segment yet. */
  unflushedUserBytes(totals: StreamTotals): number {
    return this.#memtable.totals(this.stream.streamId, totals, Infinity).userBytes;
  }

  /** Runs that opening the stream would read for its tracking. */
  async trackingRuns(): Promise<number> {
    return (await this.coordinator.findTrackingRuns(this.stream.streamId)).length;
  }

  #takeSnapshot(): Map<number, { entries: Uint8Array; nextOffset: number; epoch: number }> {
    const entries = this.tracker.takeSnapshot();
    if (entries === undefined) return new Map();
    const { streamId, nextOffset, epoch } = this.stream;
    return new Map([[streamId, { entries, nextOffset, epoch }]]);
  }

  #makeTracker(): StreamTracker {
    const host = {
      clock: this.clock,
      settings: this.#settings.tracking,
      write: (source: TrackingSource): Promise<void> => this.#place(source),
      later: (milliseconds: number, callback: () => void) => this.#timers.later(milliseconds, callback),
    };
    return new StreamTracker(new TrackingState(), this.stream, host, { bytes: 0, runs: 0 });
  }

  async #place(source: TrackingSource): Promise<void> {
    for (let content = source.next(); content !== undefined; content = source.next()) {
      const { nextOffset, epoch } = this.stream;
      if (!this.#appender.appendControl(this.stream, FRAME_KIND.tracking, nextOffset, epoch, content)) {
        throw new Error('the ring is full');
      }
      source.placed();
    }
    this.#producer.closeBlock();
    this.#fillingSince ??= this.clock.monotonic();
  }

  #makeFlush(): FlushScheduler {
    const objects = this.#objects;
    return new FlushScheduler({
      coordinator: this.coordinator,
      runner: { flush: (job) => runFlushJob(job, objects), close: () => Promise.resolve() },
      objects: NOWHERE,
      storeId: STORE_ID,
      clock: this.clock,
      compression: () => new Map(),
      relative: false,
      committed: (slot) => {
        this.#memtable.dropThrough(slot.slotSequence);
        this.#producer.release(slot.slotSequence);
      },
      failed: (error) => {
        throw error;
      },
      sleep: () => Promise.resolve(),
    });
  }

  #makeTrimming(): Trimming {
    return new Trimming({
      coordinator: this.coordinator,
      clock: this.clock,
      hasTruncations: () => false,
      flush: () => this.#flush.drain(),
      trimmed: async (streamId, firstOffset) => {
        this.tracker.trimmed(firstOffset);
        if (holdsBelow(await this.coordinator.findTrackingRuns(streamId), firstOffset)) this.tracker.wantSnapshot();
      },
    });
  }

  #makeAgent(): CompactionAgent {
    const environment = { clock: this.clock, random: new SeededRandom(2), sleep };
    return new CompactionAgent({
      coordinator: this.coordinator,
      runner: { rewrite: (job) => runRewriteJob(job, this.#objects, environment) },
      objects: NOWHERE,
      storeId: STORE_ID,
      clock: this.clock,
      sleep,
      settings: compactionSettings(),
      worker: 'simulation',
    });
  }
}
