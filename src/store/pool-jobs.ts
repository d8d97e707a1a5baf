/**
 * What a pool worker does: keeps one object store per descriptor and runs jobs on it. The code of rarer jobs is loaded
 * with the first of them, for what a worker loads at its start delays the first flush.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CopyJob } from '../backup/copy-job.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { loadChecksum } from '../codec/checksum.ts';
import type { RewriteEnvironment } from '../compaction/rewrite.ts';
import type { RewriteJob, RewriteResult } from '../compaction/rewrite-job.ts';
import { packError } from '../errors/millrace-error.ts';
import { type FlushJob, runFlushJob } from '../flush/flush-job.ts';
import type { JobAnswer } from '../flush/job-runner.ts';
import { packSegment, type PackedSegment } from '../flush/segment-message.ts';
import { MeteredObjectStore } from '../object/metered-object-store.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import { openDescriptor } from '../object/open-descriptor.ts';
import { NO_REQUESTS, type RequestTally, tallyBetween } from '../object/request-tally.ts';
import type { CopiedSegment } from '../segment/copy.ts';

const stores = new Map<string, Promise<MeteredObjectStore>>();
const told = new Map<string, RequestTally>();
const environment: RewriteEnvironment = {
  clock: systemClock,
  random: systemRandom,
  sleep: (milliseconds) => sleep(milliseconds),
};

export type PoolJob = FlushJob | RewriteJob | CopyJob;
export type PoolResult = PackedSegment | RewriteResult | CopiedSegment;

/** Runs one job. Errors come back as data: a class does not survive the thread. */
export async function runPoolJob(job: PoolJob): Promise<JobAnswer<PoolResult>> {
  const name = JSON.stringify(job.type === 'copy' ? job.to : job.objects);
  try {
    const value = await runJob(job);
    return { ok: true, value, requests: await requestsSince(name) };
  } catch (error) {
    return { ok: false, error: packError(error, 'ERR_MILLRACE_WORKER_DIED'), requests: await requestsSince(name) };
  }
}

async function runJob(job: PoolJob): Promise<PoolResult> {
  await loadChecksum();
  if (job.type === 'copy') {
    const { runCopyJob } = await import('../backup/copy-job.ts');
    return runCopyJob(job, await storeOf(job.from), await storeOf(job.to));
  }
  const objects = await storeOf(job.objects);
  if (job.type === 'flush') return packSegment(await runFlushJob(job, objects));
  const { runRewriteJob } = await import('../compaction/rewrite.ts');
  return runRewriteJob(job, objects, environment);
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
