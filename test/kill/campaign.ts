/**
 * `npm run test:kill -- [--seed <number>] [--seconds <number>]`: kills processes that write to a store for as long as
 * wanted, and checks after each kill. Prints the seed, which repeats the choices, though not the machine's timing.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { killRound } from './campaign-round.ts';
import { Expectation } from './expectation.ts';

/** A store is thrown away after so many kills, so that checking it stays quick. */
const ROUNDS_PER_STORE = 15;

export interface CampaignOptions {
  readonly seed: number;
  readonly seconds: number;
  /** At most so many rounds. */
  readonly rounds?: number;
  readonly progress?: (figures: CampaignFigures) => void;
}

export interface CampaignFigures {
  readonly kills: number;
  /** Records that were acknowledged, and found again. */
  readonly records: number;
}

/** Rejects with what is wrong, the store's directory in the message. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignFigures> {
  const { seed, seconds, rounds = Infinity, progress } = options;
  await loadChecksum();
  const random = new SeededRandom(seed);
  const end = performance.now() + 1_000 * seconds;
  let kills = 0;
  let records = 0;
  while (performance.now() < end && kills < rounds) {
    const directory = temporaryDirectory();
    const dir = join(directory.path, 'store');
    const expectation = new Expectation();
    for (let round = 0; round < ROUNDS_PER_STORE && performance.now() < end && kills < rounds; round += 1) {
      try {
        await killRound({ dir, scratch: directory.path, random, expectation });
      } catch (error) {
        throw new Error(`seed ${seed}, kill ${kills + 1}, ${dir}`, { cause: error });
      }
      kills += 1;
      progress?.({ kills, records: records + expectation.records });
    }
    records += expectation.records;
    directory.remove();
  }
  return { kills, records };
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { seed: { type: 'string' }, seconds: { type: 'string', default: '60' } } });
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  console.log(`seed ${seed}`);
  const progress = ({ kills, records }: CampaignFigures): void => {
    if (kills % 20 === 0) console.log(`${kills} kills, ${records} records`);
  };
  const { kills, records } = await runCampaign({ seed, seconds: Number(values.seconds), progress });
  console.log(`${kills} kills: ${records} acknowledged records were all there, each once and in its place`);
}
