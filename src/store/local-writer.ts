/**
 * The writing side of a store with a WAL: the lane with its ring, the WAL worker, and the flush that empties the ring
 * into segments.
 */
import type { LaneAssignment } from '../wal/writer.ts';
import { memoryBehind } from '../base/page-memory.ts';
import type { Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { Signal } from '../base/signal.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import { FlushScheduler } from '../flush/scheduler.ts';
import type { JobRunner } from '../flush/job-runner.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import { allocateDoorbell, Doorbell } from '../ring/doorbell.ts';
import { logPosition, type RingGeometry } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import type { Compression } from '../record/stream-config.ts';
import { Lane } from '../stream/lane.ts';
import { writeCleanMark } from '../wal/clean-mark.ts';
import type { RecoveredLane } from '../wal/recovery.ts';
import type { Settings } from './options.ts';
import type { StoreWriter } from './store-writer.ts';
import { Trackers } from './trackers.ts';
import { WalThread } from './wal-thread.ts';

export interface LocalWriterOptions {
  readonly settings: Settings;
  readonly storeId: Uint8Array;
  readonly fileSystem: FileSystem;
  readonly walDirectory: string;
  readonly ring: SharedArrayBuffer;
  readonly geometry: RingGeometry;
  readonly maxRecordBytes: number;
  readonly recovered: RecoveredLane;
  /** Next offset by stream id, recovered frames included. */
  readonly nextOffsets: Float64Array;
  readonly coordinator: Coordinator;
  readonly runner: JobRunner;
  readonly objects: ObjectStoreDescriptor;
  readonly clock: Clock;
  readonly compression: () => ReadonlyMap<number, Compression>;
  /** Notified when more is durable. */
  readonly progress: Signal;
}

const LANE = 0;

export class LocalWriter implements StoreWriter {
  readonly lane: Lane;
  readonly flush: FlushScheduler;
  readonly trackers: Trackers;
  readonly assignsOffsets = true;
  /** Called when a filling is committed. The store sets it. */
  onCommitted: () => void = () => undefined;
  readonly #options: LocalWriterOptions;
  readonly #wal: WalThread;
  /** When the current filling is flushed although it is not full. */
  #ageTimer: NodeJS.Timeout | undefined;
  #closing = false;
  /** End of the last filling that was sealed here, as a log position. */
  #sealedEnd = 0;
  #mode: 'starting' | 'direct' | 'buffered' = 'starting';

  constructor(options: LocalWriterOptions) {
    this.#options = options;
    const { settings, recovered, geometry, ring, storeId, clock } = options;
    const doorbell = allocateDoorbell();
    this.trackers = new Trackers(options.coordinator, () => this.lane, clock, settings.tracking);
    this.flush = new FlushScheduler({
      coordinator: options.coordinator,
      runner: options.runner,
      objects: options.objects,
      storeId,
      clock,
      compression: options.compression,
      relative: false,
      committed: (slot) => {
        this.lane.release(slot.slotSequence);
        this.onCommitted();
      },
      failed: (error) => {
        this.#flushFailed(error);
      },
      sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
    });
    this.lane = new Lane(
      {
        ring,
        geometry,
        identity: { lane: LANE, storeId },
        start: recovered.start,
        released: recovered.released,
        doorbell: new Doorbell(doorbell),
        clock,
        maxRecordBytes: options.maxRecordBytes,
        maxQueuedBytes: settings.wal.maxQueuedBytes,
      },
      {
        sealed: (slot) => {
          this.#sealed(slot);
        },
        durable: () => {
          this.#startAge();
          options.progress.notify();
        },
        pending: (waiting) => {
          this.#wal.keepAlive(waiting);
        },
      },
    );
    for (const { header, slotSequence, at } of recovered.frames) this.lane.recover(header, slotSequence, at);
    this.#wal = new WalThread(
      {
        directory: options.walDirectory,
        doorbell,
        lanes: [assignmentOf(options)],
      },
      {
        ready: (mode) => {
          this.#mode = mode;
        },
        failed: (error) => {
          this.fail(error);
        },
      },
    );
    for (const slot of recovered.fillings) this.flush.add({ lane: LANE, ring, geometry }, slot, Promise.resolve());
  }

  /** How writes become durable; `starting` until the WAL worker has probed its files. */
  get mode(): 'starting' | 'direct' | 'buffered' {
    return this.#mode;
  }

  /** Moves everything appended so far into segments. */
  async flushAll(): Promise<void> {
    await this.trackers.flush();
    await this.lane.drained();
    this.lane.seal();
    await this.flush.drain();
  }

  /** Appends are refused from now on; what was acknowledged is safe. */
  fail(error: MillraceError): void {
    clearTimeout(this.#ageTimer);
    this.trackers.discard();
    this.lane.fail(error);
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
      clearTimeout(this.#ageTimer);
      await this.#wal.stop();
      const { failure } = this.lane;
      this.lane.fail(new MillraceError('ERR_MILLRACE_CLOSED', 'the store was closed'));
      if (failure === undefined) await this.#markClean();
    }
  }

  async #flushLast(): Promise<void> {
    const flushed = this.flushAll();
    this.flush.hurry();
    try {
      await flushed;
    } catch (error) {
      if (!isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE')) throw error;
      // Still waiting for a place in the ring are only appends that are refused with the same error.
    }
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
    const { coordinator, fileSystem, walDirectory, storeId } = this.#options;
    const flushed = (await coordinator.flushedSlots()).find(({ lane }) => lane === LANE);
    if (flushed === undefined || producer.slotsInUse > 0 || producer.hasOpenBlock) return;
    if (flushed.blockSequence !== producer.blockSequence - 1) return;
    const start = { slotSequence: producer.slotSequence, blockSequence: producer.blockSequence };
    writeCleanMark(fileSystem, walDirectory, storeId, LANE, { start, flushed });
  }

  #sealed(slot: SealedSlot): void {
    clearTimeout(this.#ageTimer);
    this.#ageTimer = undefined;
    this.#sealedEnd = logPosition(slot.slotSequence, slot.endPosition);
    const durable = this.lane.whenDurable(this.#sealedEnd);
    const { ring, geometry } = this.#options;
    this.flush.add({ lane: LANE, ring, geometry }, slot, durable, this.trackers.takeSnapshots());
  }

  #startAge(): void {
    if (this.#ageTimer !== undefined || this.lane.failure !== undefined) return;
    if (this.lane.producer.slotUsedBytes === 0) return;
    this.#ageTimer = setTimeout(() => {
      this.#ageTimer = undefined;
      this.lane.seal();
    }, this.#options.settings.wal.flushInterval);
    this.#ageTimer.unref();
  }
}

/** What the WAL worker is told of the lane. */
function assignmentOf({ ring, geometry, recovered, nextOffsets }: LocalWriterOptions): LaneAssignment {
  return { lane: LANE, ring, memory: memoryBehind(ring), geometry, start: recovered.start, nextOffsets };
}
