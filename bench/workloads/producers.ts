/** Two threads that append through lanes of their own, against one: what a second thread brings. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { open, type Store } from '../../src/index.ts';
import { takeTurns, type Session, type Setting, type Values, type Workload } from '../workload.ts';
import type { ProducerThreadData } from './producer-thread.ts';
import { burstRecords, storeDirectory } from './sizes.ts';

const THREADS = 2;
const RECORD_BYTES = 100;
const WINDOW = 4_096;

export const producers: Workload = {
  name: `producers-${THREADS}`,
  what: 'append of 100 B records, a promise each, from 2 threads with lanes of their own, 4,096 in flight in each',
  floor: 'the same records from one such thread',
  figures: [
    { name: 'rate', unit: 'records/s', better: 'higher', target: { subject: 'ratio', bound: 'at least', limit: 1.2 } },
  ],
  prepare,
};

async function prepare(setting: Setting): Promise<Session> {
  const store = await open(storeDirectory(setting));
  const threads: Worker[] = [];
  for (let thread = 0; thread < THREADS; thread += 1) threads.push(await startThread(store, `thread-${thread}`));
  const records = burstRecords(setting, RECORD_BYTES);
  // Each fits its ring: what the flush can take is not the question here.
  const ingest = async (workers: readonly Worker[]): Promise<Values> => {
    const begun = performance.now();
    const answers = workers.map((worker) => once(worker, 'message'));
    for (const worker of workers) worker.postMessage(Math.floor(records / workers.length));
    await Promise.all(answers);
    const rate = records / ((performance.now() - begun) / 1_000);
    await store.flush();
    return { rate };
  };
  return {
    round: takeTurns(
      () => ingest(threads.slice(0, 1)),
      () => ingest(threads),
    ),
    close: async () => {
      await store.close();
      await Promise.all(threads.map((worker) => worker.terminate()));
    },
  };
}

async function startThread(store: Store, stream: string): Promise<Worker> {
  const handle = await store.producer();
  const data: ProducerThreadData = { handle, stream, recordBytes: RECORD_BYTES, window: WINDOW };
  const worker = new Worker(new URL('./producer-thread.js', import.meta.url), {
    workerData: data,
    transferList: handle.transferList,
  });
  await once(worker, 'message');
  return worker;
}
