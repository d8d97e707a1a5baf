/** Pool jobs on worker threads. */
import { isMillraceError, MillraceError, unpackError } from '../errors/millrace-error.ts';
import type { CopyJob, CopyRunner } from '../backup/copy-job.ts';
import type { CompactionRunner, RewriteJob, RewriteResult } from '../compaction/rewrite-job.ts';
import type { FlushedSegment, FlushJob } from '../flush/flush-job.ts';
import { type PackedSegment, unpackSegment } from '../flush/segment-message.ts';
import type { JobAnswer, JobRunner } from '../flush/job-runner.ts';
import { RequestCounts } from '../object/request-tally.ts';
import type { CopiedSegment } from '../segment/copy.ts';
import { WorkerGroup } from './worker-group.ts';

/** Copies are as fast as disks and networks: two threads keep both ends busy, more would take them from the store. */
const COPY_THREADS = 2;
const COPIES_PER_THREAD = 2;

/**
 * A job works on memory of its own and makes few objects, which still took 15 MiB before the first of them were
 * collected: nearly a quarter of what a job may take.
 */
const REWRITE_YOUNG_MIB = 6;

/** Two pools: a flush frees the ring that appends wait for, and never queues behind a merge. */
export class WorkerPool implements JobRunner, CompactionRunner {
  /** Requests to the object store by what they were for: `flush`, or the kind of a compaction job. */
  readonly requests: Record<string, RequestCounts> = {};
  readonly #flushes: WorkerGroup;
  readonly #rewrites: WorkerGroup;

  /** `flushesAtOnce`: of one thread. */
  constructor(threads: number, rewriteThreads: number, flushesAtOnce = 1) {
    this.#flushes = new WorkerGroup(threads, flushesAtOnce);
    this.#rewrites = new WorkerGroup(rewriteThreads, 1, REWRITE_YOUNG_MIB);
  }

  async flush(job: FlushJob): Promise<FlushedSegment> {
    return unpackSegment(await this.#run<PackedSegment>(this.#flushes, job, 'flush'));
  }

  rewrite(job: RewriteJob): Promise<RewriteResult> {
    return this.#run(this.#rewrites, job, job.kind);
  }

  async close(): Promise<void> {
    await Promise.all([this.#flushes.close(), this.#rewrites.close()]);
  }

  async #run<T>(pool: WorkerGroup, job: FlushJob | RewriteJob, purpose: string): Promise<T> {
    const answer = await answerOf<T>(pool, job);
    (this.requests[purpose] ??= new RequestCounts()).add(answer.requests);
    return valueOf(answer);
  }
}

/** Threads that copy segments for as long as a backup or a restore takes. */
export class CopyPool implements CopyRunner {
  readonly #copies: WorkerGroup = new WorkerGroup(COPY_THREADS, COPIES_PER_THREAD);

  async copy(job: CopyJob): Promise<CopiedSegment> {
    return valueOf(await answerOf<CopiedSegment>(this.#copies, job));
  }

  async close(): Promise<void> {
    await this.#copies.close();
  }
}

async function answerOf<T>(pool: WorkerGroup, job: FlushJob | RewriteJob | CopyJob): Promise<JobAnswer<T>> {
  try {
    return (await pool.run(job)) as JobAnswer<T>;
  } catch (cause) {
    if (isMillraceError(cause)) throw cause;
    const message = `a pool worker ended in the middle of a ${job.type}: ${String(cause)}`;
    throw new MillraceError('ERR_MILLRACE_WORKER_DIED', message, { details: { workerEnded: true }, cause });
  }
}

function valueOf<T>(answer: JobAnswer<T>): T {
  if (!answer.ok) throw unpackError(answer.error);
  return answer.value;
}
