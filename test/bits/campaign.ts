/**
 * `npm run test:bits -- [--seconds <number>] [--seed <number>] [--only <text>] [--case <number>]`: every damage to
 * every file of the golden stores, in turns, until all are done or the time is over. `--only` takes the files whose
 * name has the text, `--case` runs one case of them again.
 */
import { parseArgs } from 'node:util';
import { everySubject, Sweep } from './sweep.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    only: { type: 'string', default: '' },
    case: { type: 'string' },
  },
});
/** Cases of one file before the next has its turn. */
const TURN = 200;
const REPORT_INTERVAL = 10_000;

const seed = Number(values.seed ?? Date.now() % 2 ** 32);
const sweeps = (await everySubject())
  .filter(({ name }) => name.includes(values.only))
  .map((subject) => new Sweep(subject, seed));
const total = sweeps.reduce((sum, { count }) => sum + count, 0);
console.log(`seed ${seed}: ${total} cases in ${sweeps.length} files`);

if (values.case !== undefined) {
  for (const sweep of sweeps) await sweep.run(Number(values.case));
} else {
  const started = performance.now();
  const end = started + 1_000 * Number(values.seconds);
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
