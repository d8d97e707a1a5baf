/**
 * Where the worker entries lie. The only place that knows; bundlers that move files override the URLs.
 */
export interface WorkerFiles {
  readonly wal: URL;
  readonly pool: URL;
  /** Threads of `millrace load`. */
  readonly load: URL;
}

export const workerFiles: WorkerFiles = {
  wal: new URL('../../workers/wal.worker.js', import.meta.url),
  pool: new URL('../../workers/pool.worker.js', import.meta.url),
  load: new URL('../../workers/load.worker.js', import.meta.url),
};

/**
 * Workers inherit none of the process's own flags: `--input-type`, for one, is refused for a file and ends the worker.
 */
export const WORKER_ARGUMENTS: string[] = [];
