/** The message that takes a job to a pool worker, and what comes back. */
import type { JobKind } from '../coordinator/job.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import type { PackedLayout } from './layout.ts';

/** An object to read, as the coordinator knows it. */
export interface RewriteInput {
  readonly key: string;
  readonly bytes: number;
  /** Of its footer: 16 lower-case hexadecimal digits. */
  readonly checksum: string;
}

/** Plain data that survives `postMessage`. */
export interface RewriteJob {
  readonly type: 'rewrite';
  readonly kind: JobKind;
  readonly objects: ObjectStoreDescriptor;
  readonly storeId: Uint8Array;
  /** Coordinator time: what the outputs say about their age. */
  readonly createdAt: number;
  readonly inputs: readonly RewriteInput[];
  readonly layout: PackedLayout;
  /** One for each output, in order. */
  readonly keys: readonly string[];
  /** By stream, its log start: tracking of consumers below it goes. */
  readonly logStarts: ReadonlyMap<number, number>;
  /** Tombstones with an earlier timestamp go where nothing is left for them to hide. */
  readonly tombstonesBefore: number;
  /** Input bytes per second. */
  readonly bytesPerSecond: number;
  /** What it may hold: `compaction.jobBytes`. */
  readonly memoryBytes: number;
  /** Word 0 becomes 1 when the job is lost: the worker stops at its next chunk. */
  readonly cancel: SharedArrayBuffer;
}

export interface RewriteCounters {
  /** Bytes read from the inputs, and bytes of the outputs. */
  readBytes: number;
  writtenBytes: number;
  chunksPassed: number;
  chunksWritten: number;
  recordsRead: number;
  /** Records that are in no output: superseded, below the log start or truncated. */
  recordsDropped: number;
  /** The most that input buffers held at once. */
  peakBufferedBytes: number;
}

/** An object that the job wrote. */
export interface WrittenOutput {
  readonly key: string;
  readonly bytes: number;
  /** Of its footer: 16 lower-case hexadecimal digits. */
  readonly checksum: string;
  /** In the order of the layout and of their bytes, each `RUN_COLUMNS` numbers. */
  readonly runs: Float64Array;
}

export interface RewriteResult {
  /** In the order in which they were finished. */
  readonly outputs: readonly WrittenOutput[];
  readonly counters: Readonly<RewriteCounters>;
}

/** Where rewrites run: worker threads in production, in place in a simulation. */
export interface CompactionRunner {
  rewrite(job: RewriteJob): Promise<RewriteResult>;
}
