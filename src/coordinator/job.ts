/** Jobs: how compaction takes objects, proves that it still holds them, and swaps them for others. */
import type { StreamDescription } from '../record/stream-config.ts';
import type { CommitRun, FoundRun, RunReference } from './runs.ts';

/** In the order of their numbers on disk. */
export const JOB_KINDS = ['merge', 'rewrite', 'keyCompaction', 'chunkCompaction'] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** What a planner tells the executor beside the inputs; the coordinator hands it on unread and does not keep it. */
export type JobHints = Readonly<Record<string, string | number | boolean>>;

/** What a planner wants done. */
export interface JobPlan {
  readonly kind: JobKind;
  /** Distinct keys of committed objects. */
  readonly inputKeys: readonly string[];
  readonly hints: JobHints;
}

/** One object to rewrite, as it was at the claim. */
export interface JobInput {
  readonly key: string;
  readonly bytes: number;
  readonly checksum: string;
  readonly generation: number;
  /** Its live runs, in byte order. */
  readonly runs: readonly FoundRun[];
}

/** A stream that has runs in the inputs, as it was at the claim. */
export interface JobStream {
  readonly stream: StreamDescription;
  /** Log start: records below it need not be copied. */
  readonly firstOffset: number;
  readonly nextOffset: number;
}

export interface Job {
  readonly jobId: number;
  /** Proves ownership: every later call about the job carries it. */
  readonly token: string;
  readonly kind: JobKind;
  /** Coordinator time at which the lease ends unless it is renewed. */
  readonly leaseUntil: number;
  readonly inputs: readonly JobInput[];
  /** By ascending id. */
  readonly streams: readonly JobStream[];
  readonly hints: JobHints;
}

export interface JobDescription {
  readonly jobId: number;
  readonly kind: JobKind;
  readonly worker: string;
  readonly claimedAt: number;
  readonly leaseUntil: number;
  readonly inputKeys: readonly string[];
}

/**
 * A run of an output. It covers the offsets of its parents, which follow each other in their stream; it may leave out
 * those below the log start.
 */
export interface JobRun extends CommitRun {
  readonly parents: readonly RunReference[];
}

/** An object that a job wrote, complete in the object store. */
export interface JobOutput {
  /** From `reserveObjects`. */
  readonly key: string;
  readonly bytes: number;
  /** The checksum of the object's footer: 16 lower-case hexadecimal digits. */
  readonly checksum: string;
  readonly generation: number;
  /** In the order of their bytes. */
  readonly runs: readonly JobRun[];
}

export interface CommitJob {
  readonly jobId: number;
  readonly token: string;
  readonly outputs: readonly JobOutput[];
  /** Input runs that no output continues. Only runs that cover no readable offset may be dropped. */
  readonly dropped: readonly RunReference[];
}

export interface JobAnswer {
  /** The job was committed before, and nothing changed now. */
  readonly replayed: boolean;
}
