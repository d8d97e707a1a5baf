/** What a store takes from the system it runs on: real files, time and threads, or simulated ones. */
import { availableParallelism } from 'node:os';
import { type Clock, systemClock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import { NodeFileSystem } from '../base/node-file-system.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { systemTimers, type Timers } from '../base/timers.ts';
import type { CompactionRunner } from '../compaction/rewrite-job.ts';
import type { JobRunner } from '../flush/job-runner.ts';
import type { RequestCounts } from '../object/request-tally.ts';
import { allocateRing, type RingGeometry } from '../ring/geometry.ts';
import { lockStore, type StoreLock } from './lock.ts';
import { WorkerPool } from './pool.ts';
import type { WalRunner } from './wal-runner.ts';
import { WalThread } from './wal-thread.ts';

/** Whoever runs flushes and rewrites. */
export interface JobPool extends JobRunner, CompactionRunner {
  /** Requests to the object store by what they were for: `flush`, or the kind of a compaction job. */
  readonly requests: Readonly<Record<string, RequestCounts>>;
}

export interface PoolSize {
  /** `undefined`: as many as the machine has processors for. */
  readonly flushThreads?: number;
  readonly rewriteThreads: number;
  /** Of one thread. Default 1. */
  readonly flushesAtOnce?: number;
}

export interface StoreEnvironment {
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  /** Takes the lock of a store's directory at once, or throws `ERR_MILLRACE_LOCKED`. */
  lock(directory: string): Promise<StoreLock>;
  allocateRing(geometry: RingGeometry): SharedArrayBuffer;
  makeWal(): WalRunner;
  makePool(size: PoolSize): JobPool;
}

export const systemEnvironment: StoreEnvironment = {
  fileSystem: new NodeFileSystem(),
  clock: systemClock,
  random: systemRandom,
  timers: systemTimers,
  lock: lockStore,
  allocateRing,
  makeWal: () => new WalThread(),
  makePool: ({ flushThreads = idleProcessors(), rewriteThreads, flushesAtOnce = 1 }) =>
    new WorkerPool(flushThreads, rewriteThreads, flushesAtOnce),
};

/** All processors but the one that appends; two at least, for appends that wait leave theirs (docs/decisions/0017). */
function idleProcessors(): number {
  return Math.max(2, availableParallelism() - 1);
}
