/** Entry of the pool workers: keeps one object store per descriptor and runs jobs on it. */
import { loadChecksum } from '../src/codec/checksum.ts';
import { packError } from '../src/errors/millrace-error.ts';
import { type FlushedSegment, type FlushJob, runFlushJob } from '../src/flush/flush-job.ts';
import type { ObjectStore } from '../src/object/object-store.ts';
import { openDescriptor } from '../src/object/open-descriptor.ts';
import type { JobAnswer } from '../src/flush/job-runner.ts';

const stores = new Map<string, Promise<ObjectStore>>();
await loadChecksum();

/** Runs one job. Errors come back as data: a class does not survive the thread. */
export async function run(job: FlushJob): Promise<JobAnswer<FlushedSegment>> {
  try {
    const name = JSON.stringify(job.objects);
    let store = stores.get(name);
    if (store === undefined) {
      store = openDescriptor(job.objects);
      stores.set(name, store);
    }
    return { ok: true, value: await runFlushJob(job, await store) };
  } catch (error) {
    return { ok: false, error: packError(error, 'ERR_MILLRACE_WORKER_DIED') };
  }
}
