/** Entry of the WAL worker: binds `runWal` to this thread's port. */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { systemClock } from '../src/base/clock.ts';
import { NodeFileSystem } from '../src/base/node-file-system.ts';
import type { WalReply, WalRequest, WalWorkerData } from '../src/wal/messages.ts';
import { runWal } from '../src/wal/wal-loop.ts';

const port = parentPort;
if (port === null) throw new Error('wal.worker runs as a worker thread');

const messages = {
  receive: (): WalRequest | undefined => receiveMessageOnPort(port)?.message as WalRequest | undefined,
  send: (reply: WalReply): void => {
    port.postMessage(reply);
  },
};
await runWal(workerData as WalWorkerData, messages, new NodeFileSystem(), systemClock);
port.close();
