/**
 * Where the worker entries lie. The only place that knows; programs that are bundled say it with `setWorkerFiles`.
 */
export interface WorkerFiles {
  /** Entry of the thread that writes the log. */
  readonly wal: URL;
  /** Entry of the threads that flush and compact. */
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
 * Says where the worker entries lie, for a program that a bundler made one file of: there `import.meta.url` is that of
 * the bundle. Call it before `open`. See `docs/bundling.md`.
 */
export function setWorkerFiles(files: Pick<WorkerFiles, 'wal' | 'pool'>): void {
  Object.assign(workerFiles, files);
}

/**
 * Workers inherit none of the process's own flags: `--input-type`, for one, is refused for a file and ends the worker.
 */
export const WORKER_ARGUMENTS: string[] = [];
