/** Entry of the pool workers: keeps one object store per descriptor and runs jobs on it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../src/base/clock.ts';
import { systemRandom } from '../src/base/random.ts';
import { yieldToForeground } from '../src/base/thread-priority.ts';
import { loadChecksum } from '../src/codec/checksum.ts';
import { type RewriteEnvironment, runRewriteJob } from '../src/compaction/rewrite.ts';
import type { RewriteJob, RewriteResult } from '../src/compaction/rewrite-job.ts';
import { packError } from '../src/errors/millrace-error.ts';
import { type FlushedSegment, type FlushJob, runFlushJob } from '../src/flush/flush-job.ts';
import type { ObjectStore } from '../src/object/object-store.ts';
import { openDescriptor } from '../src/object/open-descriptor.ts';
import type { JobAnswer } from '../src/flush/job-runner.ts';

const stores = new Map<string, Promise<ObjectStore>>();
const environment: RewriteEnvironment = {
  clock: systemClock,
  random: systemRandom,
  sleep: (milliseconds) => sleep(milliseconds),
};
yieldToForeground();
await loadChecksum();

/** Runs one job. Errors come back as data: a class does not survive the thread. */
export async function run(job: FlushJob | RewriteJob): Promise<JobAnswer<FlushedSegment | RewriteResult>> {
  try {
    const name = JSON.stringify(job.objects);
    let store = stores.get(name);
    if (store === undefined) {
      store = openDescriptor(job.objects);
      stores.set(name, store);
    }
    const objects = await store;
    const value =
      job.type === 'flush' ? await runFlushJob(job, objects) : await runRewriteJob(job, objects, environment);
    return { ok: true, value };
  } catch (error) {
    return { ok: false, error: packError(error, 'ERR_MILLRACE_WORKER_DIED') };
  }
}
