/** Where pool jobs run: worker threads in production, in place in a simulation. */
import type { ErrorData } from '../errors/millrace-error.ts';
import type { FlushedSegment, FlushJob } from './flush-job.ts';

export interface JobRunner {
  flush(job: FlushJob): Promise<FlushedSegment>;
  close(): Promise<void>;
}

/** What a pool worker answers: errors cross the thread as data. */
export type JobAnswer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ErrorData };
