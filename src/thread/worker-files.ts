/** Where the files lie that threads start with. */
import { fileURLToPath } from 'node:url';
import { MillraceError } from '../errors/millrace-error.ts';
import { checkOptionNames } from '../errors/option-names.ts';

/**
 * Where the worker entries lie. The only place that knows; programs that are bundled say it with `setWorkerFiles`.
 */
export interface WorkerFiles {
  /** Entry of the thread that writes the log. */
  readonly wal: URL;
  /** Entry of the threads that flush and compact. */
  readonly pool: URL;
  /** Entry of the threads of `millrace load --threads`. */
  readonly load: URL;
}

export const workerFiles: WorkerFiles = {
  wal: new URL('../../workers/wal.worker.js', import.meta.url),
  pool: new URL('../../workers/pool.worker.js', import.meta.url),
  load: new URL('../../workers/load.worker.js', import.meta.url),
};

const NAMES = new Set(Object.keys(workerFiles));

/**
 * Says where the worker entries lie, for a program that a bundler made one file of: there `import.meta.url` is that of
 * the bundle. Call it before `open`; what is left out stays as it is. See `docs/bundling.md`.
 * `ERR_MILLRACE_INVALID_ARGUMENT`: a name that is none of a worker, or a place that is no file URL.
 */
export function setWorkerFiles(files: Partial<WorkerFiles>): void {
  checkOptionNames(files, NAMES, 'setWorkerFiles');
  for (const [name, file] of Object.entries(files) as [string, unknown][]) {
    if (file instanceof URL && isFile(file)) continue;
    throw new MillraceError(
      'ERR_MILLRACE_INVALID_ARGUMENT',
      `setWorkerFiles: ${name} is no file URL, such as new URL('./millrace-${name}.mjs', import.meta.url)`,
    );
  }
  Object.assign(workerFiles, files);
}

/** Threads start from files alone. */
function isFile(url: URL): boolean {
  try {
    return fileURLToPath(url) !== '';
  } catch {
    return false;
  }
}

/**
 * Workers inherit none of the process's own flags: `--input-type`, for one, is refused for a file and ends the worker.
 */
export const WORKER_ARGUMENTS: string[] = [];
