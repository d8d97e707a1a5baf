/** A thread with a producer of its own: appends as many records as it is told to, and says how long that took. */
import { parentPort, workerData } from 'node:worker_threads';
import { attachProducer, type ProducerHandle } from '../../src/index.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import { runClosedLoop } from '../closed-loop.ts';

export interface ProducerThreadData {
  readonly handle: ProducerHandle;
  readonly stream: string;
  readonly recordBytes: number;
  readonly window: number;
}

const port = parentPort;
if (port === null) throw new Error('producer-thread runs as a worker thread');
const { handle, stream: name, recordBytes, window } = workerData as ProducerThreadData;
const pool = recordPool(recordBytes);
const mask = pool.length - 1;
const producer = await attachProducer(handle);
const stream = await producer.stream(name);

port.on('message', (count: number) => {
  const append = (index: number): Promise<number> => stream.append(pool[index & mask]!);
  void runClosedLoop({ window, count, append, timedEvery: window }).then(({ seconds }) => {
    port.postMessage(seconds);
  });
});
port.postMessage('ready');
