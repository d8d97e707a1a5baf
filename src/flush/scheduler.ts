/**
 * Flushes sealed fillings: several jobs run at once, and their commits happen in the order of the log. A filling is
 * released only when its segment is committed, so a crash at any step finds its records in one of the two.
 */
import type { Clock } from '../base/clock.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { isMillraceError, type MillraceError, unpackError, packError } from '../errors/millrace-error.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import type { RingGeometry } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import type { Compression } from '../record/stream-config.ts';
import type { FlushedSegment, FlushJob } from './flush-job.ts';
import type { JobRunner } from './job-runner.ts';

/** Keys are reserved in groups, off the path of a flush. */
const KEYS_AT_ONCE = 16;
/** A store that cannot be reached is asked again after this, doubling up to the maximum. */
const RETRY_FIRST = 100;
const RETRY_MAX = 10_000;

export interface FlushLane {
  readonly lane: number;
  readonly ring: SharedArrayBuffer;
  readonly geometry: RingGeometry;
}

export interface FlushOptions {
  readonly coordinator: Coordinator;
  readonly runner: JobRunner;
  readonly objects: ObjectStoreDescriptor;
  readonly storeId: Uint8Array;
  readonly clock: Clock;
  /** Streams whose codec is not the default. */
  readonly compression: () => ReadonlyMap<number, Compression>;
  /** A filling is committed: its memory is free. */
  readonly committed: (lane: number, slot: SealedSlot, segment: FlushedSegment) => void;
  /** Flushing cannot go on. */
  readonly failed: (error: MillraceError) => void;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

export interface FlushCounters {
  segments: number;
  records: number;
  storedBytes: number;
  running: number;
  waiting: number;
  retries: number;
}

export class FlushScheduler {
  readonly counters: FlushCounters = { segments: 0, records: 0, storedBytes: 0, running: 0, waiting: 0, retries: 0 };
  readonly #options: FlushOptions;
  readonly #keys: string[] = [];
  #reserving: Promise<void> | undefined;
  /** Resolves when every flush so far is committed. */
  #tail: Promise<void> = Promise.resolve();
  #failure: MillraceError | undefined;

  constructor(options: FlushOptions) {
    this.#options = options;
  }

  /** Flushes a filling whose blocks are durable, or will be once `durable` resolves. */
  add(lane: FlushLane, slot: SealedSlot, durable: Promise<void>, snapshots: FlushJob['snapshots'] = new Map()): void {
    this.counters.waiting += 1;
    const written = durable.then(() => this.#write(lane, slot, snapshots));
    // The commit below waits for its turn; a rejection meanwhile is handled there.
    written.catch(() => undefined);
    this.#tail = this.#tail.then(async () => {
      try {
        await this.#commit(lane, slot, await written);
      } catch (error) {
        this.#fail(error);
      } finally {
        this.counters.waiting -= 1;
      }
    });
  }

  /** Resolves when everything added so far is committed; rejects when flushing has failed. */
  async drain(): Promise<void> {
    await this.#tail;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #write(lane: FlushLane, slot: SealedSlot, snapshots: FlushJob['snapshots']): Promise<FlushedSegment> {
    const { runner, objects, storeId, clock } = this.#options;
    for (let pause = RETRY_FIRST; ; pause = Math.min(pause * 2, RETRY_MAX)) {
      if (this.#failure !== undefined) throw this.#failure;
      const objectKey = await this.#takeKey();
      this.counters.running += 1;
      try {
        const { ring, geometry } = lane;
        const compression = this.#options.compression();
        const createdAt = clock.now();
        const target = { storeId, objects, objectKey, createdAt };
        return await runner.flush({ type: 'flush', ring, geometry, slot, ...target, compression, snapshots });
      } catch (error) {
        await this.#options.coordinator.abortObject(objectKey);
        // Only a store that may come back is tried again, each time under a new name; a failed disk stops the engine.
        if (!isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE')) throw error;
        this.counters.retries += 1;
      } finally {
        this.counters.running -= 1;
      }
      await this.#options.sleep(pause);
    }
  }

  async #commit({ lane }: FlushLane, slot: SealedSlot, segment: FlushedSegment): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { coordinator } = this.#options;
    const wal = { lane, slotSequence: slot.slotSequence, blockSequence: slot.lastBlock };
    const { objectKey: key, bytes, checksum, runs, truncations } = segment;
    if (runs.length === 0) {
      // Cut first: a crash in between flushes the filling again, and cutting twice changes nothing.
      for (const truncation of truncations) await coordinator.truncateStream(truncation);
      await coordinator.advanceFlushed(wal);
      await coordinator.abortObject(key);
      this.#options.committed(lane, slot, segment);
      return;
    }
    await coordinator.commitObject({ key, bytes, checksum, runs, truncations, wal });
    this.counters.segments += 1;
    this.counters.storedBytes += bytes;
    for (const run of runs) this.counters.records += run.records;
    this.#options.committed(lane, slot, segment);
  }

  async #takeKey(): Promise<string> {
    while (this.#keys.length === 0) {
      this.#reserving ??= this.#reserve();
      await this.#reserving;
    }
    return this.#keys.shift() as string;
  }

  async #reserve(): Promise<void> {
    try {
      const { keys } = await this.#options.coordinator.reserveObjects(KEYS_AT_ONCE);
      this.#keys.push(...keys);
    } finally {
      this.#reserving = undefined;
    }
  }

  #fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = isMillraceError(error) ? error : unpackError(packError(error, 'ERR_MILLRACE_WORKER_DIED'));
    this.#options.failed(this.#failure);
  }
}
