/** Pool jobs on worker threads. */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { unpackError } from '../errors/millrace-error.ts';
import type { FlushedSegment, FlushJob } from '../flush/flush-job.ts';
import type { JobAnswer, JobRunner } from '../flush/job-runner.ts';
import { workerFiles } from '../thread/worker-files.ts';

/** Idle workers end after this; the next job starts new ones. */
const IDLE_TIMEOUT = 30_000;

export class WorkerPool implements JobRunner {
  readonly #pool: Piscina;

  constructor(threads: number) {
    this.#pool = new Piscina({
      filename: fileURLToPath(workerFiles.pool),
      name: 'run',
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: IDLE_TIMEOUT,
      concurrentTasksPerWorker: 1,
    });
  }

  async flush(job: FlushJob): Promise<FlushedSegment> {
    const answer = (await this.#pool.run(job)) as JobAnswer<FlushedSegment>;
    if (!answer.ok) throw unpackError(answer.error);
    return answer.value;
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }
}
