/**
 * `npm run test:kill -- [options]`: kills processes that write to a store, and checks the store after each kill.
 *
 *     --seconds <number>    how long; default 60
 *     --kills <number>      at most so many
 *     --seed <number>       repeats the choices, though not the machine's timing; printed
 *     --workload <name>     only this one; default all, in turn
 *     --every [--from <n>]  before and after one file operation after the other; default at random moments
 *     --power ext4|xfs      the store is on a disk of its own, whose power is cut at each kill
 */
import { parseArgs } from 'node:util';
import { type CampaignFigures, runCampaign } from './campaign.ts';
import { type FileSystemName, whyNoCuttableDisk } from './cuttable-disk.ts';
import { chooseWeapon } from './moment.ts';
import { workloadNamed } from './workloads.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    kills: { type: 'string', default: 'Infinity' },
    workload: { type: 'string' },
    every: { type: 'boolean', default: false },
    from: { type: 'string', default: '1' },
    power: { type: 'string' },
  },
});
const { power, workload } = values;
if (power !== undefined && !isFileSystem(power)) throw new Error('--power is ext4 or xfs');
if (workload !== undefined) workloadNamed(workload);

const { weapon, reason } = chooseWeapon();
if (reason !== undefined) console.log(reason);
if (values.every && weapon === 'clock') throw new Error(`--every: ${reason}`);
const unable = power === undefined ? undefined : whyNoCuttableDisk(power);
if (unable === undefined) await run(power);
else console.log(`no power is cut: ${unable}`);

function isFileSystem(name: string): name is FileSystemName {
  return name === 'ext4' || name === 'xfs';
}

async function run(power?: FileSystemName): Promise<void> {
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  console.log(`seed ${seed}`);
  const told = ({ kills, atOperations, records, operation }: CampaignFigures): string =>
    `${kills} kills, ${atOperations} of them at a file operation${values.every ? ` (up to ${operation})` : ''}, ` +
    `${records} acknowledged records`;
  const figures = await runCampaign({
    seed,
    weapon,
    seconds: Number(values.seconds),
    kills: Number(values.kills),
    progress: (reached) => {
      if (reached.kills % 50 === 0) console.log(told(reached));
    },
    ...(workload === undefined ? {} : { workloads: [workload] }),
    ...(values.every ? { every: Number(values.from) } : {}),
    ...(power === undefined ? {} : { power }),
  });
  console.log(`${told(figures)}: all were there, each once and in its place`);
}
