/** Copies many segments at once, through a runner, and tells how far it is. */
import { throwIfAborted } from '../errors/aborted.ts';
import { checksumText, type CopyJob, type CopyRunner } from './copy-job.ts';

/** What both backup and restore take. */
export interface CopyOptions {
  /** Ends the work between two segments, with `ERR_MILLRACE_ABORTED`. */
  readonly signal?: AbortSignal;
  /** Called after each segment with bytes done and bytes in all, of what is to be copied. */
  readonly progress?: (doneBytes: number, totalBytes: number) => void;
}

/** Copies at a time: one writes while another reads. */
const AT_ONCE = 4;

/**
 * Runs the jobs and returns the checksums of the copies by key. The first failure ends it, once the copies under way
 * have ended; `copied` is called for each that is complete.
 */
export async function copyAll(
  jobs: readonly CopyJob[],
  runner: Pick<CopyRunner, 'copy'>,
  { signal, progress }: CopyOptions,
  copied: (job: CopyJob) => void = () => undefined,
): Promise<Map<string, string>> {
  const total = jobs.reduce((sum, { bytes }) => sum + bytes, 0);
  const checksums = new Map<string, string>();
  const queue = jobs.values();
  const failures: unknown[] = [];
  let done = 0;
  const work = async (): Promise<void> => {
    for (const job of queue) {
      if (failures.length > 0) return;
      try {
        throwIfAborted(signal);
        const { checksum } = await runner.copy(job);
        checksums.set(job.key, checksumText(checksum));
        copied(job);
        done += job.bytes;
        progress?.(done, total);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (failures.length > 0) throw failures[0];
  return checksums;
}
