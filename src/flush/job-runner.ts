/** Where pool jobs run: worker threads in production, in place in a simulation. */
import type { ErrorData } from '../errors/millrace-error.ts';
import type { RequestTally } from '../object/request-tally.ts';
import type { FlushedSegment, FlushJob } from './flush-job.ts';

export interface JobRunner {
  flush(job: FlushJob): Promise<FlushedSegment>;
  close(): Promise<void>;
}

/** What a pool worker answers: errors cross the thread as data. `requests` were sent since its last answer. */
export type JobAnswer<T> = { readonly requests: RequestTally } & (
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ErrorData }
);
