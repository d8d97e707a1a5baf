/**
 * The coordinator of one process: a pure state machine whose events are kept in a manifest log. It runs on the thread
 * that opened it; another process may follow its manifest read-only.
 */
import { systemClock, type Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import { systemRandom, type Random } from '../base/random.ts';
import { loadChecksum } from '../codec/checksum.ts';
import type { StreamConfig, StreamDescription } from '../record/stream-config.ts';
import { commitJob } from './commands/commit-job.ts';
import { commitObject } from './commands/commit-object.ts';
import type { Decision } from './commands/decision.ts';
import { findStreamRow } from './commands/decision.ts';
import { claimJob, releaseJob, renewJob } from './commands/job-commands.ts';
import { abortObject, advanceFlushed, confirmDeleted, expire, reserveObjects } from './commands/object-commands.ts';
import { storeOffsets, trackedOffsets } from './commands/offset-commands.ts';
import { enforceRetention } from './commands/retention.ts';
import { configureStream, createStream, deleteStream, trimStream, truncateStream } from './commands/stream-commands.ts';
import {
  COORDINATOR_TIMES_DEFAULT,
  type CommitAnswer,
  type Coordinator,
  type CoordinatorStats,
  type CoordinatorTimes,
  type Expired,
  type FindLimits,
  type FlushedSlot,
  type FoundRun,
  type FoundRuns,
  type KeyClass,
  type ObjectCommit,
  type ObjectDescription,
  type ObjectFilter,
  type PublisherMark,
  type Reservation,
  type RetentionResult,
  type StreamTotals,
  type Trimmed,
  type Truncation,
} from './coordinator.ts';
import { FollowingLedger } from './following-ledger.ts';
import type { CommitJob, Job, JobAnswer, JobDescription, JobPlan } from './job.ts';
import type { Ledger } from './ledger.ts';
import { PauseMark } from './manifest/pause-mark.ts';
import { imageOf, type StateImage } from './manifest/image.ts';
import { NONCE_BYTES } from './object-key.ts';
import {
  classifyKey,
  listJobs,
  listObjects,
  objectsToDelete,
  runsOfObject,
  statsOf,
} from './queries/object-queries.ts';
import { describeStream, findRuns, findTrackingRuns, listOffsets, streamTotals } from './queries/stream-queries.ts';
import { violations } from './state/invariants.ts';
import type { State } from './state/state.ts';
import { WritingLedger } from './writing-ledger.ts';

export interface EmbeddedCoordinatorOptions {
  readonly fileSystem: FileSystem;
  /** Absolute path of the manifest directory; made when its parent exists and it does not. */
  readonly directory: string;
  /** 16 bytes. */
  readonly storeId: Uint8Array;
  /** Default the system's. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** Follow the manifest of another process. Default false. */
  readonly readOnly?: boolean;
  readonly times?: Partial<CoordinatorTimes>;
  /** Bytes that the log may reach, however small the snapshot, before a new snapshot replaces it. Default 4 MiB. */
  readonly logBytesMin?: number;
}

const LOG_BYTES_MIN_DEFAULT = 4 * 1024 * 1024;
const TOKEN_BYTES = 16;

/**
 * Opens the manifest in a directory, or makes an empty one. Read-only, a missing one is `ERR_MILLRACE_STORE_NOT_FOUND`.
 * Throws `ERR_MILLRACE_MANIFEST_CORRUPT`, `ERR_MILLRACE_FOREIGN_FILE`, `ERR_MILLRACE_FORMAT_TOO_NEW`. Whoever opens it
 * for writing holds the store's lock.
 */
export async function openEmbeddedCoordinator(options: EmbeddedCoordinatorOptions): Promise<EmbeddedCoordinator> {
  await loadChecksum();
  const { fileSystem, directory, storeId, clock = systemClock, logBytesMin = LOG_BYTES_MIN_DEFAULT } = options;
  const ledger =
    options.readOnly === true
      ? await FollowingLedger.open({ fileSystem, directory, storeId }, clock)
      : await WritingLedger.open({ fileSystem, directory, storeId, clock, logBytesMin });
  const times = { ...COORDINATOR_TIMES_DEFAULT, ...options.times };
  const pauseMark = new PauseMark(fileSystem, directory);
  return new EmbeddedCoordinator(storeId, ledger, options.random ?? systemRandom, times, pauseMark);
}

export class EmbeddedCoordinator implements Coordinator {
  readonly storeId: Uint8Array;
  readonly #ledger: Ledger;
  readonly #random: Random;
  readonly #times: CoordinatorTimes;
  readonly #pauseMark: PauseMark;

  constructor(storeId: Uint8Array, ledger: Ledger, random: Random, times: CoordinatorTimes, pauseMark: PauseMark) {
    this.#pauseMark = pauseMark;
    this.storeId = storeId;
    this.#ledger = ledger;
    this.#random = random;
    this.#times = times;
  }

  createStream(name: string, config: StreamConfig): Promise<{ stream: StreamDescription; created: boolean }> {
    return this.#ledger.change((state) => createStream(state, name, config));
  }

  configureStream(streamId: number, config: StreamConfig): Promise<StreamDescription> {
    return this.#ledger.change((state) => configureStream(state, streamId, config));
  }

  deleteStream(streamId: number): Promise<boolean> {
    return this.#ledger.change((state) => deleteStream(state, streamId));
  }

  findStream(name: string): Promise<StreamDescription | undefined> {
    return this.#ledger.read((state) => {
      const stream = state.streamsByName.get(name);
      return stream === undefined ? undefined : describeStream(stream);
    });
  }

  streams(): Promise<StreamDescription[]> {
    return this.#ledger.read((state) => [...state.streams.values()].map(describeStream));
  }

  reserveObjects(count: number): Promise<Reservation> {
    return this.#ledger.change((state) => reserveObjects(state, count, this.#nonce(), this.#times));
  }

  commitObject(commit: ObjectCommit): Promise<CommitAnswer> {
    return this.#ledger.change((state) => commitObject(state, commit));
  }

  abortObject(key: string): Promise<boolean> {
    return this.#ledger.change((state) => abortObject(state, key));
  }

  flushedSlots(): Promise<FlushedSlot[]> {
    return this.#ledger.read((state) => [...state.lanes.values()].sort((left, right) => left.lane - right.lane));
  }

  advanceFlushed(slot: FlushedSlot): Promise<void> {
    return this.#ledger.change((state) => advanceFlushed(state, slot));
  }

  findRuns(streamId: number, fromOffset: number, limits: FindLimits): Promise<FoundRuns> {
    return this.#ledger.read((state) => findRuns(state, findStreamRow(state, streamId), fromOffset, limits));
  }

  findTrackingRuns(streamId: number): Promise<FoundRun[]> {
    return this.#ledger.read((state) => findTrackingRuns(state, findStreamRow(state, streamId)));
  }

  listOffsets(streamId: number, timestamp: number): Promise<number | undefined> {
    return this.#ledger.read((state) => listOffsets(state, findStreamRow(state, streamId), timestamp));
  }

  streamTotals(streamId: number): Promise<StreamTotals> {
    return this.#ledger.read((state) => streamTotals(state, findStreamRow(state, streamId)));
  }

  storeOffsets(streamId: number, offsets: ReadonlyMap<string, number | undefined>): Promise<void> {
    return this.#ledger.change((state): Decision<void> => storeOffsets(state, streamId, offsets));
  }

  trackedOffsets(streamId: number): Promise<Map<string, number>> {
    return this.#ledger.read((state) => trackedOffsets(findStreamRow(state, streamId)));
  }

  publisherMark(streamId: number, reference: string): Promise<PublisherMark | undefined> {
    return this.#ledger.read((state) => findStreamRow(state, streamId).publishers.get(reference));
  }

  trim(streamId: number, beforeOffset: number): Promise<Trimmed> {
    return this.#ledger.change((state) => trimStream(state, streamId, beforeOffset));
  }

  enforceRetention(streamId?: number, limits: { readonly maxRuns?: number } = {}): Promise<RetentionResult> {
    return this.#ledger.change((state) => enforceRetention(state, streamId, limits));
  }

  truncateStream(truncation: Truncation): Promise<void> {
    return this.#ledger.change((state): Decision<void> => truncateStream(state, truncation));
  }

  listObjects(filter: ObjectFilter): Promise<ObjectDescription[]> {
    return this.#ledger.read((state) => listObjects(state, filter));
  }

  objectRuns(key: string): Promise<FoundRun[]> {
    return this.#ledger.read((state) => runsOfObject(state, state.findObject(key)));
  }

  claimJob(worker: string, plan: JobPlan, leaseMs: number): Promise<Job | undefined> {
    return this.#ledger.change((state) => claimJob(state, worker, plan, leaseMs, this.#token()));
  }

  renewJob(jobId: number, token: string, leaseMs: number): Promise<boolean> {
    return this.#ledger.change((state) => renewJob(state, jobId, token, leaseMs));
  }

  commitJob(commit: CommitJob): Promise<JobAnswer> {
    return this.#ledger.change((state) => commitJob(state, commit));
  }

  releaseJob(jobId: number, token: string): Promise<boolean> {
    return this.#ledger.change((state) => releaseJob(state, jobId, token));
  }

  jobs(): Promise<JobDescription[]> {
    return this.#ledger.read(listJobs);
  }

  objectsToDelete(limit: number): Promise<string[]> {
    return this.#ledger.read((state, now) => objectsToDelete(state, now, limit, this.#times));
  }

  confirmDeleted(keys: readonly string[]): Promise<number> {
    return this.#ledger.change((state) => confirmDeleted(state, keys));
  }

  classifyKeys(keys: readonly string[]): Promise<KeyClass[]> {
    return this.#ledger.read((state) => keys.map((key) => classifyKey(state, key)));
  }

  expire(): Promise<Expired> {
    return this.#ledger.change((state: State) => expire(state, this.#times));
  }

  async compactionPaused(): Promise<boolean> {
    return this.#pauseMark.isSet;
  }

  async setCompactionPaused(paused: boolean): Promise<void> {
    this.#pauseMark.set(paused);
  }

  refresh(): Promise<void> {
    return this.#ledger.refresh();
  }

  /** The durable state at this instant, as the image of that number which begins at `position` of what holds it. */
  image(number: number, position: number): Promise<StateImage> {
    const { storeId } = this;
    return this.#ledger.read((state) => imageOf(state, { storeId, number, position }));
  }

  stats(): Promise<CoordinatorStats> {
    return this.#ledger.read(statsOf);
  }

  verify(): Promise<string[]> {
    return this.#ledger.read(violations);
  }

  close(): Promise<void> {
    return this.#ledger.close();
  }

  #nonce(): number {
    return Buffer.from(this.#random.bytes(NONCE_BYTES)).readUIntLE(0, NONCE_BYTES);
  }

  #token(): string {
    return Buffer.from(this.#random.bytes(TOKEN_BYTES)).toString('hex');
  }
}
