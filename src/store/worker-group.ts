/** Threads of one kind, which start when there is work: jobs outlive the threads that end before they took one. */
import { fileURLToPath } from 'node:url';
import type { Piscina } from 'piscina';
import { MillraceError } from '../errors/millrace-error.ts';
import { WORKER_ARGUMENTS, workerFiles } from '../thread/worker-files.ts';

/** Idle workers end after this; the next job starts new ones. */
const IDLE_TIMEOUT = 30_000;
/** Threads may lack memory for a moment; a file that is missing or throws stays so. */
const STARTS_MAX = 3;

/**
 * A pool forgets its queue when its last thread ends: those jobs would wait for a thread that nobody starts. So when
 * none is left, what was queued goes to a new pool, until threads have ended `STARTS_MAX` times in a row while they
 * loaded.
 */
export class WorkerGroup {
  readonly #threads: number;
  readonly #jobsPerThread: number;
  readonly #youngMib: number | undefined;
  readonly #file: string = fileURLToPath(workerFiles.pool);
  /** From the first job on. */
  #pool: Piscina | undefined;
  /** Pools that were given up, and why their jobs are refused: `undefined` when they are to be run by the next. */
  readonly #abandoned = new WeakMap<Piscina, MillraceError | undefined>();
  #unfinished = 0;
  #failedStarts = 0;
  /** Whether a thread has loaded its file since the last start that failed. */
  #loaded = false;
  #cause: unknown;
  #checking = false;
  #closed = false;

  /** `youngMib`: what new objects of a thread take at most before they are collected. Default the engine's, 48 MiB. */
  constructor(threads: number, jobsPerThread: number, youngMib?: number) {
    this.#threads = threads;
    this.#jobsPerThread = jobsPerThread;
    this.#youngMib = youngMib;
  }

  /** Rejects with what ended the thread that had the job, or with a coded error when no thread starts. */
  async run(job: object): Promise<unknown> {
    this.#unfinished += 1;
    try {
      for (;;) {
        const pool = await this.#openPool();
        try {
          return await pool.run(job);
        } catch (error) {
          if (!this.#abandoned.has(pool)) throw error;
          const failure = this.#abandoned.get(pool);
          if (failure !== undefined) throw failure;
        }
      }
    } finally {
      this.#unfinished -= 1;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool?.close();
  }

  /** Loaded for the first job: it took a fifth of the processor time of importing millrace. */
  async #openPool(): Promise<Piscina> {
    const loaded = await import('piscina');
    if (this.#closed) throw new Error('the pool is closed');
    return (this.#pool ??= this.#startPool(loaded.Piscina));
  }

  #startPool(Pool: typeof Piscina): Piscina {
    const pool = new Pool({
      filename: this.#file,
      execArgv: WORKER_ARGUMENTS,
      name: 'run',
      minThreads: 0,
      maxThreads: this.#threads,
      idleTimeout: IDLE_TIMEOUT,
      concurrentTasksPerWorker: this.#jobsPerThread,
      ...(this.#youngMib === undefined ? {} : { resourceLimits: { maxYoungGenerationSizeMb: this.#youngMib } }),
    });
    // A worker that ends without a job, or one that takes long to close: the group goes on, so the process has to.
    pool.on('error', (error) => {
      this.#cause = error;
    });
    pool.on('workerCreate', () => {
      this.#loaded = true;
      this.#cause = undefined;
    });
    pool.on('workerDestroy', () => {
      this.#checkSoon(pool);
    });
    return pool;
  }

  /** The event comes in front of the thread's removal, and of the rejection of the jobs that it had. */
  #checkSoon(pool: Piscina): void {
    if (this.#checking) return;
    this.#checking = true;
    setImmediate(() => {
      this.#checking = false;
      if (pool === this.#pool) this.#check();
    });
  }

  #check(): void {
    const pool = this.#pool;
    if (this.#closed || this.#unfinished === 0 || pool === undefined || pool.threads.length > 0) return;
    this.#failedStarts = this.#loaded ? 0 : this.#failedStarts + 1;
    this.#loaded = false;
    this.#abandoned.set(pool, this.#failedStarts >= STARTS_MAX ? this.#failure() : undefined);
    this.#pool = undefined;
    void pool.destroy();
  }

  #failure(): MillraceError {
    const cause = this.#cause ?? new Error('it ended while it was loaded');
    return new MillraceError(
      'ERR_MILLRACE_WORKER_DIED',
      `a pool worker cannot be started from ${this.#file}: ${String(cause)}: mend the file, or say with setWorkerFiles ` +
        'where it is, and open the store again',
      { details: { file: this.#file }, cause },
    );
  }
}
