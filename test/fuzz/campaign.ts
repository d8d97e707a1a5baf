/**
 * `npm run test:fuzz -- [--seconds <number>] [--seed <number>] [--only <text>] [--case <number>]`: hostile bytes for
 * every decoder. `--only` takes the targets whose name has the text, `--case` runs one case of them again.
 */
import { Worker } from 'node:worker_threads';
import { campaignOptions } from '../support/campaign-options.ts';
import { everyTarget, Fuzzer } from './fuzzer.ts';

/** Milliseconds that a target has before the next one's turn. */
const TURN = 250;
const REPORT_INTERVAL = 10_000;

const { seconds, seed, only, case: single } = campaignOptions();
const fuzzers = (await everyTarget())
  .filter(({ name }) => name.includes(only))
  .map((target) => new Fuzzer(target, seed));
console.log(`seed ${seed}: ${fuzzers.map(({ target }) => target.name).join(', ')}`);

/** Target and case that are running: all that can be told of a decoder that never returns. */
const place = new Int32Array(new SharedArrayBuffer(8));
const watchdog = new Worker(new URL('./watchdog.worker.js', import.meta.url), {
  workerData: { place, names: fuzzers.map(({ target }) => target.name), seed },
});
watchdog.unref();

async function turn(index: number, fuzzer: Fuzzer, until: number): Promise<void> {
  while (performance.now() < until) {
    Atomics.store(place, 0, index);
    Atomics.store(place, 1, fuzzer.done);
    await fuzzer.next();
  }
}

if (single !== undefined) {
  for (const fuzzer of fuzzers) await fuzzer.run(single);
} else {
  const started = performance.now();
  const end = started + 1_000 * seconds;
  const done = (): number => fuzzers.reduce((sum, fuzzer) => sum + fuzzer.done, 0);
  const rate = (): string => `${Math.round((1_000 * done()) / (performance.now() - started))}/s`;
  let reported = started;
  while (performance.now() < end) {
    for (const [index, fuzzer] of fuzzers.entries()) {
      await turn(index, fuzzer, Math.min(end, performance.now() + TURN));
    }
    if (performance.now() - reported < REPORT_INTERVAL) continue;
    reported = performance.now();
    console.log(`${done()} cases, ${rate()}`);
  }
  for (const { target } of fuzzers) await target.close?.();
  for (const { target, done: cases } of fuzzers) console.log(`${String(cases).padStart(10)}  ${target.name}`);
  console.log(`${done()} cases, ${rate()}, seed ${seed}: each was decoded or refused, within bounds`);
}
