/**
 * The source of truth about streams, objects and runs. Two backends implement it (a manifest log in a directory, and
 * PostgreSQL) and pass the contract suite of `millrace/testing`.
 *
 * What holds for every method:
 * - A resolved promise of a changing method means that the change is durable. Reads never show less than that, and
 *   never more.
 * - All time is the coordinator's own, clamped so that it never goes back. Callers pass durations, never times.
 * - A rejected call changed nothing, except after `ERR_MILLRACE_WRITE_FAILED` and `ERR_MILLRACE_UNAVAILABLE`, where
 *   the outcome is open: ask again, since every change can be repeated with the same answer.
 * - A stream that does not exist, or no longer, is `ERR_MILLRACE_STREAM_NOT_FOUND` unless said otherwise.
 */
import type { StreamConfig, StreamDescription } from '../record/stream-config.ts';
import type { CommitJob, Job, JobAnswer, JobDescription, JobPlan } from './job.ts';
import type { CommitRun, FoundRun, PublisherMark } from './runs.ts';

export type { CommitRun, FoundRun, PublisherClaim, PublisherMark, RunReference } from './runs.ts';

/** Every timing rule that the coordinator itself applies; milliseconds of its own clock. */
export interface CoordinatorTimes {
  /** From the reservation of a key until a commit under it is refused. Default one hour. */
  readonly reservationTtl: number;
  /** From an object's last use until it may be deleted: readers that still hold coordinates finish. Default 60 s. */
  readonly deleteGrace: number;
  /** How long the coordinator remembers objects that are gone and jobs that ended. Default 24 hours. */
  readonly tombstoneRetention: number;
}

export const COORDINATOR_TIMES_DEFAULT: CoordinatorTimes = {
  reservationTtl: 3_600_000,
  deleteGrace: 60_000,
  tombstoneRetention: 24 * 3_600_000,
};

/** Object keys made by one call. */
export interface Reservation {
  readonly keys: readonly string[];
  /** Coordinator time after which a commit under these keys is refused. */
  readonly deadline: number;
}

/** How far a lane of the WAL is in objects: everything up to here may be forgotten. */
export interface FlushedSlot {
  readonly lane: number;
  readonly slotSequence: number;
  /** Sequence of the last block of the slot that is in objects. */
  readonly blockSequence: number;
}

/** A stream starts again at `nextOffset`, under a higher epoch. */
export interface Truncation {
  readonly streamId: number;
  readonly nextOffset: number;
  readonly epoch: number;
}

/** An object that is complete in the object store, and what it holds. */
export interface ObjectCommit {
  /** From `reserveObjects`. */
  readonly key: string;
  readonly bytes: number;
  /** The checksum of the object's footer: 16 lower-case hexadecimal digits. */
  readonly checksum: string;
  /** 0 for objects made of appends; a job's outputs are one above their inputs. Default 0. */
  readonly generation?: number;
  /**
   * False (default): runs carry their own offsets, and each continues its stream exactly.
   * True: runs count from offset 0 and the coordinator assigns what comes next.
   */
  readonly relative?: boolean;
  /** In the order of their bytes. Several runs of one stream follow each other. */
  readonly runs: readonly CommitRun[];
  /** Applied before the runs, in the same step. */
  readonly truncations?: readonly Truncation[];
  /** Advances the lane in the same step. */
  readonly wal?: FlushedSlot;
}

/** Where a committed run went. */
export interface RunAnswer {
  readonly streamId: number;
  /** `undefined`: the stream was deleted before the commit, or the run was refused; its bytes are dead. */
  readonly firstOffset: number | undefined;
  /** A publisher of the run was not where the writer believed it to be: nothing of the run was appended. */
  readonly refused?: boolean;
}

export interface CommitAnswer {
  /** One for each run of the commit, in its order. */
  readonly runs: readonly RunAnswer[];
  /** The key was committed before; this is the answer of then, and nothing changed now. */
  readonly replayed: boolean;
}

export interface FindLimits {
  /** At most this many runs. */
  readonly maxRuns: number;
  /** Stop once the runs hold this many stored bytes; the first run comes whatever its size. */
  readonly maxBytes: number;
}

export interface FoundRuns {
  /** Log start: nothing below it may be read. May lie inside the first run. */
  readonly firstOffset: number;
  /** High watermark: one past the last committed offset. */
  readonly nextOffset: number;
  /** The stream's epoch. */
  readonly epoch: number;
  /** In offset order without a gap, from the one that covers the asked offset. Those that cover none are left out. */
  readonly runs: readonly FoundRun[];
}

/**
 * What a stream holds in objects, from its log start to its high watermark. `records` is exact as long as the runs
 * that the log start or a truncation cuts are dense; a cut sparse run counts whole, and so do bytes of every cut run.
 */
export interface StreamTotals {
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly epoch: number;
  readonly records: number;
  readonly userBytes: number;
  readonly trackingBytes: number;
  /** Bytes of chunks in objects. */
  readonly storedBytes: number;
  /** Runs, and objects that hold at least one of them. */
  readonly runs: number;
  readonly segments: number;
  /** Smallest and largest record timestamp; `undefined` without records. */
  readonly firstTimestamp: number | undefined;
  readonly lastTimestamp: number | undefined;
  /** Stored bytes below the log start, kept because the newest tracking snapshot or later tracking lies there. */
  readonly heldBytes: number;
}

export interface Trimmed {
  /** The log start afterwards. */
  readonly firstOffset: number;
  /** Runs that became dead, and their stored bytes. */
  readonly runs: number;
  readonly bytes: number;
}

export interface RetentionResult {
  /** Streams that lost runs. */
  readonly streams: readonly (Trimmed & { readonly streamId: number })[];
  /** The limit ended the work before retention was satisfied: call again. */
  readonly more: boolean;
}

/** What becomes of an object, from the reservation of its key until it is forgotten. */
export type ObjectState =
  /** The key is handed out; the object may or may not be in the store. */
  | 'reserved'
  /** Holds at least one live run. */
  | 'committed'
  /** Holds no live run; deleted after the grace. */
  | 'deleting'
  /** Certainly deleted; the key is remembered for a while. */
  | 'gone';

/** What planners decide from. */
export interface ObjectDescription {
  /** Its name in the object store; never used twice. */
  readonly key: string;
  /** Where it is in its life. */
  readonly state: ObjectState;
  /** Coordinator time of the last change of state; for a reserved object its deadline. */
  readonly stateAt: number;
  /** Coordinator time of its commit. This and all below is 0, empty or `undefined` for one never committed. */
  readonly committedAt: number;
  /** Its size. */
  readonly bytes: number;
  /** Of its footer: 16 lower-case hexadecimal digits. */
  readonly checksum: string;
  /** 0 for objects made of appends; outputs of a job are one above their inputs. */
  readonly generation: number;
  /** Stored bytes of runs that can still be read. */
  readonly liveBytes: number;
  /** Runs that can still be read. */
  readonly liveRuns: number;
  /** Stored bytes of consumers and publishers in those runs. */
  readonly liveTrackingBytes: number;
  /** Smallest timestamp of its records when it was committed; 0 without any. */
  readonly firstTimestamp: number;
  /** Largest timestamp of its records when it was committed; 0 without any. */
  readonly lastTimestamp: number;
  /** Coordinator time by which a deletion deadline wants dead bytes of this object gone. */
  readonly rewriteBy: number | undefined;
  /** The live job that has it as an input. */
  readonly jobId: number | undefined;
}

/** Which objects are listed. */
export interface ObjectFilter {
  /** Default `committed`. */
  readonly state?: ObjectState;
  /** Only objects that no live job has as an input. */
  readonly unclaimed?: boolean;
  /** The highest generation, inclusive. */
  readonly maxGeneration?: number;
  /** The largest size, inclusive. */
  readonly maxBytes?: number;
  /** Coordinator time by which they were committed, inclusive. */
  readonly committedBefore?: number;
  /** Continue behind this key. */
  readonly after?: string;
  /** Default unlimited. */
  readonly limit?: number;
}

/** What became of a key: `unknown` was never made here, or was forgotten after its tombstone's time. */
export type KeyClass = ObjectState | 'unknown';

export interface Expired {
  /** Reserved keys whose deadline passed: their objects are to be deleted. */
  readonly reservations: number;
  /** Jobs whose lease ended. */
  readonly jobs: number;
  /** Objects and jobs forgotten. */
  readonly tombstones: number;
}

export interface CoordinatorStats {
  readonly streams: number;
  readonly runs: number;
  readonly jobs: number;
  readonly objects: Readonly<Record<ObjectState, number>>;
  /** Bytes of committed objects, and the part of them that live runs take. */
  readonly committedBytes: number;
  readonly liveBytes: number;
  /** Bytes of objects that wait for deletion. */
  readonly deletingBytes: number;
  /** The coordinator's time. */
  readonly now: number;
}

/** The source of truth. Its contract is a suite: `coordinatorContract` of `millrace/testing`. */
export interface Coordinator {
  /** 16 bytes that every object of the store carries: the same for all who share the coordinator. */
  readonly storeId: Uint8Array;

  /** Creates the stream, or returns the existing one of that name with its own config unchanged. */
  createStream(
    name: string,
    config: StreamConfig,
  ): Promise<{
    /** The stream of that name. */
    stream: StreamDescription;
    /** Whether there was none before. */
    created: boolean;
  }>;
  /** Replaces the config. */
  configureStream(streamId: number, config: StreamConfig): Promise<StreamDescription>;
  /** All its runs become dead. Returns false when there is no such stream. */
  deleteStream(streamId: number): Promise<boolean>;
  /** The stream of that name; `undefined` when there is none. */
  findStream(name: string): Promise<StreamDescription | undefined>;
  /** All streams, by ascending id. */
  streams(): Promise<StreamDescription[]>;

  /** Makes `count` keys, in ascending order, that were never used and never will be again. */
  reserveObjects(count: number): Promise<Reservation>;
  /**
   * Makes an object's runs readable. Idempotent by key: a replay returns the stored answer.
   * `ERR_MILLRACE_CONFLICT`: a run does not continue its stream (details `expected`, `actual`), the epoch is older than
   * the stream's, the WAL lane is already further, the reservation has ended, or the key holds another content.
   * Nothing has changed then, and the object is still the caller's to abort.
   * A run whose publishers have moved on is refused alone: its answer says so, and the rest of the object is committed.
   */
  commitObject(commit: ObjectCommit): Promise<CommitAnswer>;
  /** Gives up a reserved key: its object, if any, will be deleted. Returns false when it is committed already. */
  abortObject(key: string): Promise<boolean>;

  /** How far each lane is in objects; lanes that never committed are absent. */
  flushedSlots(): Promise<FlushedSlot[]>;
  /** Advances a lane without an object: the slot held nothing to keep. */
  advanceFlushed(slot: FlushedSlot): Promise<void>;

  /**
   * Runs from `fromOffset` on. Below the log start it begins there; at or above the high watermark it returns no runs:
   * the caller judges with `firstOffset` and `nextOffset`. Costs the result, not the length of the stream.
   */
  findRuns(streamId: number, fromOffset: number, limits: FindLimits): Promise<FoundRuns>;
  /**
   * The runs that hold the stream's tracking state: the newest one with a snapshot and all later ones with tracking
   * bytes, in order; without a snapshot, all with tracking bytes. Some may lie below the log start.
   */
  findTrackingRuns(streamId: number): Promise<FoundRun[]>;
  /**
   * The first readable offset of the first run that may hold a record with a timestamp of at least `timestamp`;
   * `undefined` when no committed run does. The reader narrows down inside the run.
   */
  listOffsets(streamId: number, timestamp: number): Promise<number | undefined>;
  /** What its runs hold, without reading an object. */
  streamTotals(streamId: number): Promise<StreamTotals>;

  /**
   * Stores how far consumers have come, or forgets those with `undefined`; for stores without a WAL, whose logs carry
   * no tracking. Offsets below the log start are dropped. `ERR_MILLRACE_OFFSET_OUT_OF_RANGE`: at or above the high
   * watermark. `ERR_MILLRACE_TOO_MANY_REFERENCES`.
   */
  storeOffsets(streamId: number, offsets: ReadonlyMap<string, number | undefined>): Promise<void>;
  /** What `storeOffsets` has stored, from the log start on. */
  trackedOffsets(streamId: number): Promise<Map<string, number>>;
  /** The latest record that was committed for a publisher; `undefined` when there is none, or it was forgotten. */
  publisherMark(streamId: number, reference: string): Promise<PublisherMark | undefined>;

  /**
   * Moves the log start up to `beforeOffset`; never down. Runs wholly below become dead, except those that still hold
   * needed tracking. Above the high watermark it is `ERR_MILLRACE_OFFSET_OUT_OF_RANGE`.
   */
  trim(streamId: number, beforeOffset: number): Promise<Trimmed>;
  /**
   * Trims the oldest runs that the streams' retention no longer keeps; of every stream, or of one. The newest run
   * with offsets goes by age only.
   */
  enforceRetention(streamId?: number, limits?: { readonly maxRuns?: number }): Promise<RetentionResult>;
  /**
   * Moves the high watermark down to `nextOffset` (or leaves it) under an epoch higher than the stream's: later runs
   * become dead, a run across it ends there. Asking again with the stream's own epoch and watermark changes nothing.
   * `ERR_MILLRACE_CONFLICT` for a lower epoch, `ERR_MILLRACE_OFFSET_OUT_OF_RANGE` outside [log start, watermark].
   */
  truncateStream(truncation: Truncation): Promise<void>;

  /** Objects in key order. */
  listObjects(filter: ObjectFilter): Promise<ObjectDescription[]>;
  /** The live runs of an object, in byte order; empty for an unknown key. */
  objectRuns(key: string): Promise<FoundRun[]>;
  /** Takes all inputs of a plan, or none: `undefined` when one is not committed or belongs to another live job. */
  claimJob(worker: string, plan: JobPlan, leaseMs: number): Promise<Job | undefined>;
  /** Extends the lease from now. False: the job is lost, stop working on it. */
  renewJob(jobId: number, token: string, leaseMs: number): Promise<boolean>;
  /**
   * Swaps the live runs of the inputs for the outputs, all at once, and marks the inputs for deletion. Every live run
   * of every input must be a parent of exactly one output run, or be listed as dropped; runs that died since the claim
   * become dead bytes of the output. Idempotent by job.
   * `ERR_MILLRACE_LEASE_LOST`: the token is not current. `ERR_MILLRACE_CONFLICT`: coverage fails. Nothing changes then.
   */
  commitJob(commit: CommitJob): Promise<JobAnswer>;
  /** Ends a job without a result. False when the token is not current. */
  releaseJob(jobId: number, token: string): Promise<boolean>;
  /** Live jobs, by ascending id. */
  jobs(): Promise<JobDescription[]>;

  /** Keys whose grace has passed, those that wait longest first. */
  objectsToDelete(limit: number): Promise<string[]>;
  /** Records that the object store no longer holds these keys; only deleting ones count. Returns how many. */
  confirmDeleted(keys: readonly string[]): Promise<number>;
  /** One answer per key, in order. For sweeps over a listing of the object store. */
  classifyKeys(keys: readonly string[]): Promise<KeyClass[]>;
  /** Ends reservations and leases whose time has passed, and forgets old tombstones. */
  expire(): Promise<Expired>;

  /**
   * Whether no background compaction is to start in any process of the store. Kept until it is changed, and not
   * enforced: agents ask before they plan. A read-only coordinator may change it too, for it touches no data.
   */
  compactionPaused(): Promise<boolean>;
  /** Pauses compaction for all processes, or lets it go on; jobs that run are finished. */
  setCompactionPaused(paused: boolean): Promise<void>;

  /** Of a read-only coordinator: shows what was committed before this call. Elsewhere reads are always current. */
  refresh(): Promise<void>;
  /** Streams, runs, and objects by state. */
  stats(): Promise<CoordinatorStats>;
  /** Checks every invariant and returns a sentence for each violation. */
  verify(): Promise<string[]>;
  /** Waits for changes under way; later calls are `ERR_MILLRACE_CLOSED`. */
  close(): Promise<void>;
}
