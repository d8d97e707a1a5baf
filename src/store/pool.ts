/** Pool jobs on worker threads. */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { MillraceError, unpackError } from '../errors/millrace-error.ts';
import type { CompactionRunner, RewriteJob, RewriteResult } from '../compaction/rewrite-job.ts';
import type { FlushedSegment, FlushJob } from '../flush/flush-job.ts';
import type { JobAnswer, JobRunner } from '../flush/job-runner.ts';
import { RequestCounts } from '../object/request-tally.ts';
import { WORKER_ARGUMENTS, workerFiles } from '../thread/worker-files.ts';

/** Idle workers end after this; the next job starts new ones. */
const IDLE_TIMEOUT = 30_000;

/** Two pools: a flush frees the ring that appends wait for, and never queues behind a merge. */
export class WorkerPool implements JobRunner, CompactionRunner {
  /** Requests to the object store by what they were for: `flush`, or the kind of a compaction job. */
  readonly requests: Record<string, RequestCounts> = {};
  readonly #flushes: Piscina;
  readonly #rewrites: Piscina;

  /** `flushesAtOnce`: of one thread. */
  constructor(threads: number, rewriteThreads: number, flushesAtOnce = 1) {
    this.#flushes = startPool(threads, flushesAtOnce);
    this.#rewrites = startPool(rewriteThreads, 1);
  }

  flush(job: FlushJob): Promise<FlushedSegment> {
    return this.#run(this.#flushes, job, 'flush');
  }

  rewrite(job: RewriteJob): Promise<RewriteResult> {
    return this.#run(this.#rewrites, job, job.kind);
  }

  async close(): Promise<void> {
    await Promise.all([this.#flushes.close(), this.#rewrites.close()]);
  }

  async #run<T>(pool: Piscina, job: FlushJob | RewriteJob, purpose: string): Promise<T> {
    let answer: JobAnswer<T>;
    try {
      answer = (await pool.run(job)) as JobAnswer<T>;
    } catch (cause) {
      const message = `a pool worker ended in the middle of a ${job.type}: ${String(cause)}`;
      throw new MillraceError('ERR_MILLRACE_WORKER_DIED', message, { details: { workerEnded: true }, cause });
    }
    (this.requests[purpose] ??= new RequestCounts()).add(answer.requests);
    if (!answer.ok) throw unpackError(answer.error);
    return answer.value;
  }
}

function startPool(threads: number, tasksPerThread: number): Piscina {
  const pool = new Piscina({
    filename: fileURLToPath(workerFiles.pool),
    execArgv: WORKER_ARGUMENTS,
    name: 'run',
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: IDLE_TIMEOUT,
    concurrentTasksPerWorker: tasksPerThread,
  });
  // A worker that ends between two jobs, or one that takes long to close: the pool goes on, so the process has to.
  pool.on('error', () => undefined);
  return pool;
}
