/** Where pool jobs run: worker threads in production, in place in a simulation. */
import type { FlushedSegment, FlushJob } from './flush-job.ts';

export interface JobRunner {
  flush(job: FlushJob): Promise<FlushedSegment>;
  close(): Promise<void>;
}
