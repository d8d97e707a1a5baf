/**
 * `npm run test:kill -- [--seed <number>] [--seconds <number>] [--power ext4|xfs]`: kills processes that write to a
 * store for as long as wanted, and checks after each kill. With `--power` the store is on a disk of its own whose power
 * is cut at each kill. Prints the seed, which repeats the choices, though not the machine's timing.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { killRound } from './campaign-round.ts';
import { CuttableDisk, type FileSystemName, whyNoCuttableDisk } from './cuttable-disk.ts';
import { Expectation } from './expectation.ts';

/** A store is thrown away after so many kills, so that checking it stays quick. */
const ROUNDS_PER_STORE = 15;

export interface CampaignOptions {
  readonly seed: number;
  readonly seconds: number;
  /** At most so many rounds. */
  readonly rounds?: number;
  /** Cut the power of a disk with this file system, too. */
  readonly power?: FileSystemName;
  readonly progress?: (figures: CampaignFigures) => void;
}

export interface CampaignFigures {
  readonly kills: number;
  /** Records that were acknowledged, and found again. */
  readonly records: number;
}

/** Rejects with what is wrong, the store's directory in the message. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignFigures> {
  const { seed, seconds, rounds = Infinity, power, progress } = options;
  await loadChecksum();
  const random = new SeededRandom(seed);
  const end = performance.now() + 1_000 * seconds;
  let kills = 0;
  let records = 0;
  while (performance.now() < end && kills < rounds) {
    const directory = temporaryDirectory();
    const disk = power === undefined ? undefined : new CuttableDisk(directory.path, power);
    const dir = join(disk?.path ?? directory.path, 'store');
    const expectation = new Expectation();
    try {
      for (let round = 0; round < ROUNDS_PER_STORE && performance.now() < end && kills < rounds; round += 1) {
        const where = disk === undefined ? {} : { disk };
        await killRound({ dir, scratch: directory.path, random, expectation, ...where });
        kills += 1;
        progress?.({ kills, records: records + expectation.records });
      }
    } catch (error) {
      throw new Error(`seed ${seed}, kill ${kills + 1}, ${dir}`, { cause: error });
    }
    records += expectation.records;
    disk?.unmount();
    directory.remove();
  }
  return { kills, records };
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: { seed: { type: 'string' }, seconds: { type: 'string', default: '60' }, power: { type: 'string' } },
  });
  const { power } = values;
  if (power !== undefined && power !== 'ext4' && power !== 'xfs') throw new Error('--power is ext4 or xfs');
  const reason = power === undefined ? undefined : whyNoCuttableDisk(power);
  if (reason !== undefined) throw new Error(`--power: ${reason}`);
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  console.log(`seed ${seed}`);
  const progress = ({ kills, records }: CampaignFigures): void => {
    if (kills % 20 === 0) console.log(`${kills} kills, ${records} records`);
  };
  const seconds = Number(values.seconds);
  const { kills, records } = await runCampaign({ seed, seconds, progress, ...(power === undefined ? {} : { power }) });
  console.log(`${kills} kills: ${records} acknowledged records were all there, each once and in its place`);
}
