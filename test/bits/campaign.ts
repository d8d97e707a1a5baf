/**
 * `npm run test:bits -- [--seconds <number>] [--seed <number>] [--only <text>] [--case <number>]`: every damage to
 * every file of the golden stores, in turns, until all are done or the time is over. `--only` takes the files whose
 * name has the text, `--case` runs one case of them again.
 */
import { campaignOptions } from '../support/campaign-options.ts';
import { everySubject, Sweep } from './sweep.ts';

/** Cases of one file before the next has its turn. */
const TURN = 200;
const REPORT_INTERVAL = 10_000;

const { seconds, seed, only, case: single } = campaignOptions();
const sweeps = (await everySubject())
  .filter(({ name }) => name.includes(only))
  .map((subject) => new Sweep(subject, seed));
const total = sweeps.reduce((sum, { count }) => sum + count, 0);
console.log(`seed ${seed}: ${total} cases in ${sweeps.length} files`);

if (single !== undefined) {
  for (const sweep of sweeps) await sweep.run(single);
} else {
  const started = performance.now();
  const end = started + 1_000 * seconds;
  let done = 0;
  let reported = started;
  for (let left = sweeps; left.length > 0 && performance.now() < end;) {
    for (const sweep of left) {
      for (let index = 0; index < TURN && performance.now() < end; index += 1) {
        if (!(await sweep.next())) break;
        done += 1;
      }
      if (performance.now() - reported < REPORT_INTERVAL) continue;
      reported = performance.now();
      console.log(`${done} of ${total} cases, ${Math.round((1_000 * done) / (reported - started))}/s`);
    }
    left = left.filter((sweep) => sweep.done < sweep.count);
  }
  const took = (performance.now() - started) / 1_000;
  console.log(`${done} of ${total} cases in ${took.toFixed(1)} s: each was reported or repaired`);
}
