/** Ends the process, with the case in the message, when a decoder does not return. */
import { workerData } from 'node:worker_threads';

interface WatchdogData {
  readonly place: Int32Array;
  readonly names: readonly string[];
  readonly seed: number;
}

const PATIENCE = 120_000;
const { place, names, seed } = workerData as WatchdogData;
let last = '';

setInterval(() => {
  const [target, number] = [Atomics.load(place, 0), Atomics.load(place, 1)];
  const running = `target '${names[target] ?? ''}', seed ${seed}, case ${number}`;
  if (running === last) {
    console.error(`${running}: no answer for ${PATIENCE} ms`);
    process.kill(process.pid, 'SIGABRT');
  }
  last = running;
}, PATIENCE);
