/**
 * Flushes sealed fillings: several jobs run at once, and their commits happen in the order of the log. A filling is
 * released only when its segment is committed, so a crash at any step finds its records in one of the two.
 */
import { assert } from '../base/assert.ts';
import type { Announcer } from '../base/channels.ts';
import type { Clock } from '../base/clock.ts';
import { Signal } from '../base/signal.ts';
import type { CommitAnswer, CommitRun, Coordinator, PublisherClaim } from '../coordinator/coordinator.ts';
import { isMillraceError, type MillraceError, unpackError, packError } from '../errors/millrace-error.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import type { RingGeometry } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import type { Compression } from '../record/stream-config.ts';
import type { FlushedRun, FlushedSegment, FlushJob } from './flush-job.ts';
import type { JobRunner } from './job-runner.ts';

/** Keys are reserved in groups, off the path of a flush. */
const KEYS_AT_ONCE = 16;
/** Unused keys are given up after this: an upload has the rest of the hour that a reservation lasts. */
const KEYS_AGE_MAX = 600_000;
/** A store that cannot be reached is asked again after this, doubling up to the maximum. */
const RETRY_FIRST = 100;
const RETRY_MAX = 10_000;
/** A worker that ends takes only its job with it: a filling is given to so many, one after the other. */
const WORKERS_MAX = 3;

/** What a filling claims of the publishers of each stream; offsets are those of its frames. */
export type LocalClaims = ReadonlyMap<number, readonly PublisherClaim[]>;

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
  /** The coordinator assigns offsets: there is no WAL whose slots a commit would release. */
  readonly relative: boolean;
  /** Publishers in a filling whose offsets the coordinator assigns. Default none. */
  readonly claims?: (slot: SealedSlot) => LocalClaims;
  /** A filling is committed: its memory is free. Without an answer there was nothing to commit. */
  readonly committed: (
    slot: SealedSlot,
    segment: FlushedSegment,
    answer: CommitAnswer | undefined,
    lane: FlushLane,
  ) => void;
  /** Flushing cannot go on. */
  readonly failed: (error: MillraceError) => void;
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** Default nobody hears of the segments. */
  readonly announcer?: Announcer;
}

/** A segment that is not committed yet, and when its job began, on the monotonic clock. */
interface WrittenSegment {
  readonly segment: FlushedSegment;
  readonly startedAt: number;
}

export interface FlushCounters {
  segments: number;
  records: number;
  storedBytes: number;
  running: number;
  waiting: number;
  retries: number;
  /** Runs of a store without a WAL that the coordinator refused: a publisher in them had published elsewhere. */
  refusedRuns: number;
}

const NOTHING_FLUSHED: Readonly<FlushCounters> = {
  segments: 0,
  records: 0,
  storedBytes: 0,
  running: 0,
  waiting: 0,
  retries: 0,
  refusedRuns: 0,
};

export class FlushScheduler {
  readonly counters: FlushCounters = { ...NOTHING_FLUSHED };
  readonly #options: FlushOptions;
  readonly #keys: string[] = [];
  #reservedAt = 0;
  #reserving: Promise<void> | undefined;
  /** Resolves when every flush so far is committed. */
  #tail: Promise<void> = Promise.resolve();
  #failure: MillraceError | undefined;
  /** Nobody waits for a store that cannot be reached any more. */
  #hurried = false;
  readonly #hurry = new Signal();

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
        await this.#settle(lane, slot, snapshots, await written);
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

  /**
   * From now on a store that cannot be reached is a failure: a pause under way ends, and the attempt after it is the
   * last.
   */
  hurry(): void {
    this.#hurried = true;
    this.#hurry.notify();
  }

  async #write(lane: FlushLane, slot: SealedSlot, snapshots: FlushJob['snapshots']): Promise<WrittenSegment> {
    for (let workers = 1; ; workers += 1) {
      try {
        return await this.#runJob(lane, slot, snapshots);
      } catch (error) {
        if (workers === WORKERS_MAX || !isWorkerEnded(error)) throw error;
        this.counters.retries += 1;
      }
    }
  }

  async #runJob(lane: FlushLane, slot: SealedSlot, snapshots: FlushJob['snapshots']): Promise<WrittenSegment> {
    // Only a store that may come back is tried again, each time under a new name; a failed disk stops the engine.
    return this.#persist(async () => {
      const objectKey = await this.#takeKey();
      this.counters.running += 1;
      const startedAt = this.#options.clock.monotonic();
      try {
        return { segment: await this.#options.runner.flush(this.#jobFor(lane, slot, snapshots, objectKey)), startedAt };
      } catch (error) {
        await this.#giveUp(objectKey);
        throw error;
      } finally {
        this.counters.running -= 1;
      }
    });
  }

  #jobFor(lane: FlushLane, slot: SealedSlot, snapshots: FlushJob['snapshots'], objectKey: string): FlushJob {
    const { ring, geometry } = lane;
    const { objects, storeId, clock, relative } = this.#options;
    const createdAt = clock.now();
    const compression = this.#options.compression();
    return {
      type: 'flush',
      ring,
      geometry,
      slot,
      storeId,
      objects,
      objectKey,
      createdAt,
      compression,
      snapshots,
      relative,
    };
  }

  /**
   * Commits a segment. A machine that slept may wake up after the reservation of its key has ended: then the filling,
   * which is still in the ring, is written again.
   */
  async #settle(
    lane: FlushLane,
    slot: SealedSlot,
    snapshots: FlushJob['snapshots'],
    first: WrittenSegment,
  ): Promise<void> {
    for (let written = first; ; written = await this.#write(lane, slot, snapshots)) {
      try {
        await this.#commit(lane, slot, written);
        return;
      } catch (error) {
        if (!isReservationEnded(error)) throw error;
        // Those that were reserved with it have ended too.
        this.#keys.length = 0;
      }
    }
  }

  /** Reservations end by themselves: an answer that does not come changes nothing. */
  async #giveUp(objectKey: string): Promise<void> {
    await this.#options.coordinator.abortObject(objectKey).catch(() => undefined);
  }

  async #commit(from: FlushLane, slot: SealedSlot, { segment, startedAt }: WrittenSegment): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { coordinator, relative } = this.#options;
    const wal = { lane: from.lane, slotSequence: slot.slotSequence, blockSequence: slot.lastBlock };
    const { objectKey: key, bytes, checksum, runs, truncations } = segment;
    if (runs.length === 0) {
      assert(truncations.length === 0, 'the run of a truncated stream says at least that it was cut');
      if (!relative) await this.#persist(() => coordinator.advanceFlushed(wal));
      await this.#giveUp(key);
      this.#options.committed(slot, segment, undefined, from);
      return;
    }
    const claims = this.#options.claims?.(slot);
    const claiming = claims === undefined ? runs : runs.map((run) => withClaims(run, claims.get(run.streamId)));
    const commit = { key, bytes, checksum, runs: claiming, truncations, relative, ...(relative ? {} : { wal }) };
    const answer = await this.#persist(() => coordinator.commitObject(commit));
    this.counters.segments += 1;
    for (const { refused } of answer.runs) if (refused === true) this.counters.refusedRuns += 1;
    this.counters.storedBytes += bytes;
    const records = runs.reduce((sum, run) => sum + run.records, 0);
    this.counters.records += records;
    this.#options.announcer?.tell('flush', () => {
      const duration = this.#options.clock.monotonic() - startedAt;
      return { objectKey: key, runs: runs.length, records, bytes, duration };
    });
    this.#options.committed(slot, segment, answer, from);
  }

  /**
   * Repeats `action` while the service behind it cannot be reached. A commit whose answer was lost may have happened:
   * asked again, it tells what it answered then.
   */
  async #persist<T>(action: () => Promise<T>): Promise<T> {
    for (let pause = RETRY_FIRST; ; pause = Math.min(pause * 2, RETRY_MAX)) {
      if (this.#failure !== undefined) throw this.#failure;
      try {
        return await action();
      } catch (error) {
        if (this.#hurried || !isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE')) throw error;
        this.counters.retries += 1;
      }
      await Promise.race([this.#options.sleep(pause), this.#hurry.wait()]);
    }
  }

  async #takeKey(): Promise<string> {
    // A reservation ends: keys that were not needed for long are left to expire.
    if (this.#options.clock.monotonic() - this.#reservedAt > KEYS_AGE_MAX) this.#keys.length = 0;
    while (this.#keys.length === 0) {
      this.#reserving ??= this.#reserve();
      await this.#reserving;
    }
    return this.#keys.shift() as string;
  }

  async #reserve(): Promise<void> {
    try {
      const { keys } = await this.#options.coordinator.reserveObjects(KEYS_AT_ONCE);
      this.#reservedAt = this.#options.clock.monotonic();
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

/** Nothing was committed under the key, nor can be: any other conflict says that somebody else wrote. */
function isReservationEnded(error: unknown): boolean {
  return isMillraceError(error, 'ERR_MILLRACE_CONFLICT') && error.details['reservationEnded'] === true;
}

/** The worker is gone, by no fault of the disk: whatever it left lies under a name that is never used again. */
function isWorkerEnded(error: unknown): boolean {
  return isMillraceError(error, 'ERR_MILLRACE_WORKER_DIED') && error.details['workerEnded'] === true;
}

/** Offsets of the claims count from the start of the run, like the run's own. */
function withClaims(run: FlushedRun, claims: readonly PublisherClaim[] = []): CommitRun {
  if (claims.length === 0) return run;
  const publishers = claims.map((claim) => ({ ...claim, offset: claim.offset - run.localOffset }));
  return { ...run, publishers };
}
