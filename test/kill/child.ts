/**
 * The process that is going to be killed: the actors of a workload, each of which reports what it was told to be
 * durable. Argument: a `Task` as JSON.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { type ErrorData, unpackError } from '../../src/errors/millrace-error.ts';
import { type MillraceError, open, type WalOptions } from '../../src/index.ts';
import { Actors, type Cast } from './actors.ts';
import { own } from './owner.ts';
import type { ProducerTask } from './producer.worker.ts';
import { report } from './reports.ts';
import { openOptions, ownedNames, producedNames, streamOptions, workloadNamed } from './workloads.ts';

export interface Task {
  readonly dir: string;
  /** Name of the workload. */
  readonly workload: string;
  readonly seed: number;
  readonly wal: WalOptions;
  readonly publishFrom: Cast['publishFrom'];
}

/** Starts every actor of the workload. */
export function play(cast: Cast): Promise<void>[] {
  const actors = new Actors(cast);
  const owners = ownedNames(cast.workload).map((name) => own(name, cast));
  return [...cast.workload.actors.flatMap((name) => actors.start(name)), ...owners, ...produce(cast)];
}

/** Threads with a lane of their own, which share the streams among them. */
function produce({ store, random, workload, signal }: Cast): Promise<void>[] {
  const { threads = 0, held = 5 } = workload.produced ?? {};
  return Array.from({ length: threads }, async (_, index) => {
    const streams = producedNames(workload).filter((_name, position) => position % threads === index);
    const workerData: ProducerTask = { seed: random.uint32(), streams, held, options: streamOptions(workload) };
    const handle = await store.producer({ slots: 2, slotBytes: 64 * 1024 });
    const worker = new Worker(new URL('producer.worker.js', import.meta.url), { workerData });
    let failure: MillraceError | undefined;
    worker.once('message', (data: ErrorData) => {
      failure = unpackError(data);
    });
    worker.postMessage(handle, handle.transferList);
    const stop = (): void => worker.postMessage('stop');
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
    await once(worker, 'exit');
    if (failure !== undefined) throw failure;
  });
}

/** Run as a program, and not when its types are imported. */
if (process.argv[1] === import.meta.filename) {
  await loadChecksum();
  const task = JSON.parse(process.argv[2] ?? '') as Task;
  const workload = workloadNamed(task.workload);
  const { dir, wal, seed, publishFrom } = task;
  const store = await open(openOptions(workload, { dir, wal, compaction: { deleteGrace: 50 } }));
  report({ type: 'open' });
  let appends = 0;
  const nextName = (): string => {
    appends += 1;
    return `${seed}.${appends}`;
  };
  const { signal } = new AbortController();
  await Promise.all(play({ store, workload, random: new SeededRandom(seed), publishFrom, nextName, signal }));
  throw new Error('an actor has ended');
}
