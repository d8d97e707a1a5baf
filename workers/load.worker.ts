/** Entry of the threads of a load test: binds `runLoadThread` to this thread's port. */
import { parentPort, workerData } from 'node:worker_threads';
import { runLoadThread } from '../src/cli/load/thread.ts';
import type { LoadOrder, LoadThreadData } from '../src/cli/load/thread-messages.ts';

const port = parentPort;
if (port === null) throw new Error('load.worker runs as a worker thread');

await runLoadThread(workerData as LoadThreadData, {
  onOrder: (listener) => {
    port.on('message', (order: LoadOrder) => {
      listener(order);
    });
  },
  send: (reply) => {
    port.postMessage(reply);
  },
});
