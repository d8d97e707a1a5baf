/** Pool jobs on worker threads. */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { unpackError } from '../errors/millrace-error.ts';
import type { CompactionRunner, RewriteJob, RewriteResult } from '../compaction/rewrite-job.ts';
import type { FlushedSegment, FlushJob } from '../flush/flush-job.ts';
import type { JobAnswer, JobRunner } from '../flush/job-runner.ts';
import { WORKER_ARGUMENTS, workerFiles } from '../thread/worker-files.ts';

/** Idle workers end after this; the next job starts new ones. */
const IDLE_TIMEOUT = 30_000;

/** Two pools: a flush frees the ring that appends wait for, and never queues behind a merge. */
export class WorkerPool implements JobRunner, CompactionRunner {
  readonly #flushes: Piscina;
  readonly #rewrites: Piscina;

  /** `flushesAtOnce`: of one thread. */
  constructor(threads: number, rewriteThreads: number, flushesAtOnce = 1) {
    this.#flushes = startPool(threads, flushesAtOnce);
    this.#rewrites = startPool(rewriteThreads, 1);
  }

  flush(job: FlushJob): Promise<FlushedSegment> {
    return runJob(this.#flushes, job);
  }

  rewrite(job: RewriteJob): Promise<RewriteResult> {
    return runJob(this.#rewrites, job);
  }

  async close(): Promise<void> {
    await Promise.all([this.#flushes.close(), this.#rewrites.close()]);
  }
}

/** All processors but the one that appends. */
export function flushThreads(): number {
  return Math.max(2, availableParallelism() - 1);
}

function startPool(threads: number, tasksPerThread: number): Piscina {
  return new Piscina({
    filename: fileURLToPath(workerFiles.pool),
    execArgv: WORKER_ARGUMENTS,
    name: 'run',
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: IDLE_TIMEOUT,
    concurrentTasksPerWorker: tasksPerThread,
  });
}

async function runJob<T>(pool: Piscina, job: FlushJob | RewriteJob): Promise<T> {
  const answer = (await pool.run(job)) as JobAnswer<T>;
  if (!answer.ok) throw unpackError(answer.error);
  return answer.value;
}
