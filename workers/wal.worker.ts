/** Entry of the WAL worker: binds `runWal` to this thread's port. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { WalRequest, WalWorkerData } from '../src/wal/messages.ts';
import { runWal } from '../src/wal/wal-loop.ts';

const port = parentPort;
if (port === null) throw new Error('wal.worker runs as a worker thread');

await runWal(workerData as WalWorkerData, {
  receive: () => receiveMessageOnPort(port)?.message as WalRequest | undefined,
  send: (reply) => {
    port.postMessage(reply);
  },
});
port.close();
