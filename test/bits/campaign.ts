/**
 * `npm run test:bits -- [--seconds <number>] [--seed <number>] [--only <text>] [--case <number>] [--from <number>]`:
 * every damage to every file of the golden stores, in turns, until all are done or the time is over. `--only` takes the
 * files whose name has the text, `--case` runs one case of them again. With `--from` they run file by file, from that
 * case on, and what it prints at the end says where to go on: so a sweep of all of them is done in parts.
 */
import { campaignOptions } from '../support/campaign-options.ts';
import { everySubject, Sweep, sweepFrom } from './sweep.ts';

/** Cases of one file before the next has its turn. */
const TURN = 200;
const REPORT_INTERVAL = 10_000;

const { seconds, seed, only, case: single, from } = campaignOptions();
const sweeps = (await everySubject())
  .filter(({ name }) => name.includes(only))
  .map((subject) => new Sweep(subject, seed));
const total = sweeps.reduce((sum, { count }) => sum + count, 0);
console.log(`${from === undefined ? `seed ${seed}: ` : ''}${total} cases in ${sweeps.length} files`);

const started = performance.now();
const end = started + 1_000 * seconds;
let reported = started;

function report(done: number): void {
  if (performance.now() - reported < REPORT_INTERVAL) return;
  reported = performance.now();
  console.log(`${done} of ${total} cases, ${Math.round((1_000 * done) / (reported - started))}/s`);
}

async function runInTurns(): Promise<void> {
  let done = 0;
  for (let left = sweeps; left.length > 0 && performance.now() < end;) {
    for (const sweep of left) {
      for (let index = 0; index < TURN && performance.now() < end; index += 1) {
        if (!(await sweep.next())) break;
        done += 1;
      }
      report(done);
    }
    left = left.filter((sweep) => sweep.done < sweep.count);
  }
  const took = (performance.now() - started) / 1_000;
  console.log(`${done} of ${total} cases in ${took.toFixed(1)} s: each was reported or repaired`);
}

async function runFrom(first: number): Promise<void> {
  let next = first;
  for await (const done of sweepFrom(sweeps, first)) {
    next = done + 1;
    report(next - first);
    if (performance.now() >= end) break;
  }
  console.log(`cases ${first} to ${next - 1} of ${total}: each was reported or repaired`);
  console.log(next < total ? `go on with --from ${next}` : 'these were the last');
}

if (single !== undefined) {
  for (const sweep of sweeps) await sweep.run(single);
} else if (from !== undefined) {
  await runFrom(from);
} else {
  await runInTurns();
}
