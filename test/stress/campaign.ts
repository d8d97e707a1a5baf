/**
 * `npm run test:stress -- [--seconds <number>] [--seed <number>]`: appends, readers of every kind, flushes, retention,
 * trims and compaction at once, in stores of a few seconds each. The seed repeats the choices, not the timing.
 */
import { join } from 'node:path';
import { campaignOptions } from '../support/campaign-options.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { runStress } from './store-stress.ts';

const ROUND_SECONDS = 10;

const options = campaignOptions();
let { seed } = options;
const end = performance.now() + 1_000 * options.seconds;
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
