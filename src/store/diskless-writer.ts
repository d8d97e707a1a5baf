/**
 * The writing side of a store without a WAL: appends gather in a ring of private memory, a slot that is full or old
 * becomes an object, and an append is acknowledged when the coordinator has committed its object and assigned its
 * offset.
 */
import { required } from '../base/assert.ts';
import type { Announcer } from '../base/channels.ts';
import type { CommitAnswer, Coordinator } from '../coordinator/coordinator.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import type { FlushedSegment } from '../flush/flush-job.ts';
import type { JobRunner } from '../flush/job-runner.ts';
import { FlushScheduler, type LocalClaims } from '../flush/scheduler.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import type { Compression } from '../record/stream-config.ts';
import type { Followers } from '../stream/followers.ts';
import { allocateDoorbell, Doorbell } from '../ring/doorbell.ts';
import { logPosition } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import { CommitDurability, type RunOutcome } from '../stream/commit-durability.ts';
import { Lane } from '../stream/lane.ts';
import { recordBytesMax } from './geometry.ts';
import type { StoreEnvironment } from './environment.ts';
import type { Settings } from './options.ts';
import { SharedTrackers } from './shared-trackers.ts';
import type { StoreWriter } from './store-writer.ts';

export interface DisklessWriterOptions {
  readonly environment: StoreEnvironment;
  readonly settings: Settings;
  readonly storeId: Uint8Array;
  readonly announcer: Announcer;
  readonly coordinator: Coordinator;
  readonly runner: JobRunner;
  readonly objects: ObjectStoreDescriptor;
  readonly compression: () => ReadonlyMap<number, Compression>;
  /** Notified when more is committed. */
  readonly followers: Followers;
}

const LANE = 0;
const NO_CLAIMS: LocalClaims = new Map();

export class DisklessWriter implements StoreWriter {
  readonly lane: Lane;
  readonly flush: FlushScheduler;
  readonly trackers: SharedTrackers;
  readonly producers = undefined;
  readonly assignsOffsets = false;
  readonly mode = 'none';
  onCommitted: () => void = () => undefined;
  readonly #options: DisklessWriterOptions;
  readonly #interval: number;
  readonly #ring: SharedArrayBuffer;
  readonly #durability: CommitDurability;
  readonly #claims = new Map<number, LocalClaims>();
  /** When the current filling is uploaded although it is not full. */
  #cancelAge: (() => void) | undefined;
  #release: (() => void) | undefined;

  constructor(options: DisklessWriterOptions) {
    this.#options = options;
    const { environment, settings, storeId, coordinator } = options;
    const diskless = required(settings.diskless, 'a store without a WAL says how');
    this.#interval = diskless.interval;
    const geometry = { slots: diskless.slots, slotBytes: diskless.slotBytes };
    this.#ring = environment.allocateRing(geometry);
    this.trackers = new SharedTrackers(coordinator, environment, settings.tracking.maxInterval);
    this.flush = this.#makeScheduler();
    const made: { durability?: CommitDurability } = {};
    this.lane = new Lane(
      {
        ring: this.#ring,
        geometry,
        identity: { lane: LANE, storeId },
        start: { slotSequence: 0, blockSequence: 0 },
        released: -1,
        // Nobody listens: blocks of this ring are written by nobody but the flush.
        doorbell: new Doorbell(allocateDoorbell()),
        clock: environment.clock,
        maxRecordBytes: recordBytesMax(settings, geometry),
        maxQueuedBytes: diskless.maxQueuedBytes,
        followed: options.followers,
        durability: (observer) => (made.durability = new CommitDurability(logPosition(0, 0), observer)),
      },
      {
        sealed: (slot) => {
          this.#sealed(slot);
        },
        durable: () => {
          options.followers.wakeDurable(this.lane.memtable, this.lane.durableEnd);
        },
        pending: (waiting) => {
          this.#pending(waiting);
        },
      },
    );
    this.#durability = required(made.durability, 'a lane makes its durability');
  }

  laneFor(): Lane {
    return this.lane;
  }

  memoryOf(): Lane {
    return this.lane;
  }

  async flushAll(): Promise<void> {
    // Whatever becomes of stored offsets, appends are moved on.
    const [tracked] = await Promise.allSettled([this.trackers.flush()]);
    await this.lane.drained();
    this.lane.seal();
    await this.flush.drain();
    if (tracked.status === 'rejected') throw tracked.reason;
  }

  /** Appends are refused from now on, and those that wait may or may not be committed. */
  fail(error: MillraceError): void {
    this.#stopAge();
    this.trackers.discard();
    const isFirst = this.lane.failure === undefined;
    this.lane.fail(error);
    if (isFirst) this.#options.announcer.tell('error', () => ({ where: 'writer' as const, error }));
  }

  async close(): Promise<void> {
    try {
      if (this.lane.failure === undefined) await this.flushAll();
    } finally {
      this.#stopAge();
      this.lane.fail(new MillraceError('ERR_MILLRACE_CLOSED', 'the store was closed'));
      this.#pending(false);
    }
  }

  #makeScheduler(): FlushScheduler {
    const { environment, coordinator, runner, objects, storeId, compression, announcer } = this.#options;
    return new FlushScheduler({
      coordinator,
      runner,
      objects,
      storeId,
      clock: environment.clock,
      compression,
      relative: true,
      claims: ({ slotSequence }) => this.#claims.get(slotSequence) ?? NO_CLAIMS,
      committed: (slot, segment, answer) => {
        this.#committed(slot, segment, answer);
      },
      failed: (error) => {
        this.fail(error);
      },
      sleep: (milliseconds) => environment.timers.sleep(milliseconds),
      announcer,
    });
  }

  #sealed(slot: SealedSlot): void {
    this.#stopAge();
    const claims = this.trackers.takeClaims();
    if (claims.size > 0) this.#claims.set(slot.slotSequence, claims);
    this.#durability.sealed(slot.slotSequence);
    const { geometry } = this.lane.producer;
    this.flush.add({ lane: LANE, ring: this.#ring, geometry }, slot, Promise.resolve());
  }

  #committed(slot: SealedSlot, segment: FlushedSegment, answer: CommitAnswer | undefined): void {
    const outcomes = new Map<number, RunOutcome>();
    for (const [index, { streamId, localOffset }] of segment.runs.entries()) {
      const placed = answer?.runs[index];
      if (placed?.refused === true) outcomes.set(streamId, { localOffset, refused: refused(streamId) });
      else if (placed?.firstOffset !== undefined) {
        outcomes.set(streamId, { localOffset, shift: placed.firstOffset - localOffset });
      }
    }
    this.#claims.delete(slot.slotSequence);
    this.#durability.committed(slot, outcomes);
    this.lane.release(slot.slotSequence);
    this.onCommitted();
  }

  /** While an append waits, its filling ages and the process must not end. */
  #pending(waiting: boolean): void {
    if (!waiting) {
      this.#release?.();
      this.#release = undefined;
      return;
    }
    const { timers } = this.#options.environment;
    this.#release ??= timers.hold();
    this.#cancelAge ??= timers.after(this.#interval, () => {
      this.#cancelAge = undefined;
      if (this.lane.failure === undefined) this.lane.seal();
    });
  }

  #stopAge(): void {
    this.#cancelAge?.();
    this.#cancelAge = undefined;
  }
}

function refused(streamId: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_CONFLICT',
    `appends to stream ${streamId} were refused: a publisher among them has published elsewhere meanwhile. Of a ` +
      'group that is spread over several objects, records in earlier ones may be appended, those from here on ' +
      'are not: ' +
      'send all of them again, and what is appended by now is answered as duplicate',
    { details: { streamId } },
  );
}
