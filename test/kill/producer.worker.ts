/** A thread with a lane of its own in the process that is going to be killed: appends to streams that it holds. */
import { parentPort, workerData } from 'node:worker_threads';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { attachProducer, isMillraceError, type ProducerHandle, type StreamOptions } from '../../src/index.ts';
import { packError } from '../../src/errors/millrace-error.ts';
import { pause } from './actors.ts';
import { chooseAppends } from './owner.ts';
import { report } from './reports.ts';
import { valuesOf } from './values.ts';

export interface ProducerTask {
  readonly seed: number;
  readonly streams: readonly string[];
  /** A stream is given back, and taken again, after so many bursts. */
  readonly held: number;
  /** What they are made with. */
  readonly options: StreamOptions;
}

async function produce(handle: ProducerHandle): Promise<void> {
  const { seed, streams, held, options } = workerData as ProducerTask;
  await loadChecksum();
  const producer = await attachProducer(handle);
  const random = new SeededRandom(seed);
  let appends = 0;
  const nextName = (): string => {
    appends += 1;
    return `${seed}p.${appends}`;
  };
  const work = async (name: string): Promise<void> => {
    while (!isStopped) {
      const stream = await producer.stream(name, options);
      for (let count = 0; count < held && !isStopped; count += 1) {
        await pause(random);
        const step = chooseAppends(random, nextName);
        report({ type: 'step', stream: name, step });
        await Promise.all(step.appends.map(({ append, count }) => stream.appendMany(valuesOf(append, count))));
        report({ type: 'done', stream: name });
      }
      await stream.release();
    }
  };
  await Promise.all(streams.map(work));
  await producer.close();
}

/** Told by any message after the first. */
let isStopped = false;

parentPort?.once('message', (handle: ProducerHandle) => {
  parentPort?.once('message', () => {
    isStopped = true;
  });
  void produce(handle)
    .catch((error: unknown) => {
      if (!isMillraceError(error)) throw error;
      // Thrown, it would lose its code on the way.
      parentPort?.postMessage(packError(error, error.code));
    })
    .finally(() => parentPort?.close());
});
