/** Entry of the pool workers: keeps one object store per descriptor and runs jobs on it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type CopyJob, runCopyJob } from '../src/backup/copy-job.ts';
import { systemClock } from '../src/base/clock.ts';
import { systemRandom } from '../src/base/random.ts';
import { yieldToForeground } from '../src/base/thread-priority.ts';
import { loadChecksum } from '../src/codec/checksum.ts';
import { type RewriteEnvironment, runRewriteJob } from '../src/compaction/rewrite.ts';
import type { RewriteJob, RewriteResult } from '../src/compaction/rewrite-job.ts';
import { packError } from '../src/errors/millrace-error.ts';
import { type FlushJob, runFlushJob } from '../src/flush/flush-job.ts';
import { MeteredObjectStore } from '../src/object/metered-object-store.ts';
import type { ObjectStoreDescriptor } from '../src/object/object-store.ts';
import { openDescriptor } from '../src/object/open-descriptor.ts';
import { NO_REQUESTS, type RequestTally, tallyBetween } from '../src/object/request-tally.ts';
import { packSegment, type PackedSegment } from '../src/flush/segment-message.ts';
import type { JobAnswer } from '../src/flush/job-runner.ts';
import type { CopiedSegment } from '../src/segment/copy.ts';

const stores = new Map<string, Promise<MeteredObjectStore>>();
const told = new Map<string, RequestTally>();
const environment: RewriteEnvironment = {
  clock: systemClock,
  random: systemRandom,
  sleep: (milliseconds) => sleep(milliseconds),
};
yieldToForeground();
await loadChecksum();

type Job = FlushJob | RewriteJob | CopyJob;
type Result = PackedSegment | RewriteResult | CopiedSegment;

/** Runs one job. Errors come back as data: a class does not survive the thread. */
export async function run(job: Job): Promise<JobAnswer<Result>> {
  const name = JSON.stringify(job.type === 'copy' ? job.to : job.objects);
  try {
    const value = await runJob(job);
    return { ok: true, value, requests: await requestsSince(name) };
  } catch (error) {
    return { ok: false, error: packError(error, 'ERR_MILLRACE_WORKER_DIED'), requests: await requestsSince(name) };
  }
}

async function runJob(job: Job): Promise<Result> {
  if (job.type === 'copy') return runCopyJob(job, await storeOf(job.from), await storeOf(job.to));
  const objects = await storeOf(job.objects);
  return job.type === 'flush' ? packSegment(await runFlushJob(job, objects)) : runRewriteJob(job, objects, environment);
}

function storeOf(descriptor: ObjectStoreDescriptor): Promise<MeteredObjectStore> {
  const name = JSON.stringify(descriptor);
  let store = stores.get(name);
  if (store === undefined) {
    store = openDescriptor(descriptor).then((opened) => new MeteredObjectStore(opened));
    stores.set(name, store);
  }
  return store;
}

/** Since the last answer that told of them: of several jobs that share a thread, the first to end tells for all. */
async function requestsSince(name: string): Promise<RequestTally> {
  const before = told.get(name) ?? NO_REQUESTS;
  const after = (await stores.get(name)?.catch(() => undefined))?.tally() ?? before;
  told.set(name, after);
  return tallyBetween(before, after);
}
