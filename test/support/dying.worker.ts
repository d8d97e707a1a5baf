/** A worker thread that ends in the middle of its work: as WAL worker once something is appended, as pool at once. */
import { parentPort, workerData } from 'node:worker_threads';
import { Doorbell } from '../../src/ring/doorbell.ts';
import type { WalWorkerData } from '../../src/wal/messages.ts';

const { doorbell } = (workerData ?? {}) as Partial<WalWorkerData>;
if (doorbell !== undefined) {
  parentPort?.postMessage({ type: 'ready', mode: 'buffered' });
  new Doorbell(doorbell).sleep(0, 60_000);
  process.exit(3);
}

/** The job of a pool. */
export function run(): never {
  process.exit(3);
}
