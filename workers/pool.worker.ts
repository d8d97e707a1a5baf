/**
 * Entry of the pool workers. A worker starts when the first slot is full, in the middle of the appends that filled it:
 * so it steps back before it loads what it needs, which takes tens of milliseconds of a processor.
 */
import { yieldToForeground } from '../src/base/thread-priority.ts';
import type { JobAnswer } from '../src/flush/job-runner.ts';
import type { PoolJob, PoolResult } from '../src/store/pool-jobs.ts';

yieldToForeground();
const { runPoolJob } = await import('../src/store/pool-jobs.ts');

/** Runs one job. */
export const run: (job: PoolJob) => Promise<JobAnswer<PoolResult>> = runPoolJob;
