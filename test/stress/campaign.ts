/**
 * `npm run test:stress -- [--seconds <number>] [--seed <number>]`: appends, readers of every kind, flushes, retention,
 * trims and compaction at once, in stores of a few seconds each. The seed repeats the choices, not the timing.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { runStress } from './store-stress.ts';

const ROUND_SECONDS = 10;

const { values } = parseArgs({ options: { seed: { type: 'string' }, seconds: { type: 'string', default: '60' } } });
let seed = Number(values.seed ?? Date.now() % 2 ** 32);
const end = performance.now() + 1_000 * Number(values.seconds);
while (performance.now() < end) {
  const directory = temporaryDirectory();
  const seconds = Math.min(ROUND_SECONDS, (end - performance.now()) / 1_000);
  const { appended, read, segments, compactions } = await runStress({
    dir: join(directory.path, 'store'),
    seed,
    seconds,
  });
  console.log(`seed ${seed}: ${appended} appended, ${read} read, ${segments} segments, ${compactions} compactions`);
  directory.remove();
  seed += 1;
}
