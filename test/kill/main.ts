/**
 * `npm run test:kill -- [options]`: kills processes that write to a store, and checks the store after each kill.
 *
 *     --seconds <number>    how long; default 60
 *     --kills <number>      at most so many
 *     --seed <number>       repeats the choices, though not the machine's timing; printed
 *     --workload <name>     only this one; default all, in turn
 *     --every [--from <n>]  before and after one file operation after the other; default: half by the clock, half at
 *                           any operation that processes do
 *     --power ext4|xfs      the store is on a disk of its own, whose power is cut at each kill
 *     --faults              nobody is killed: file operations fail, early and late ones with the same chance; with
 *                           --every one after the other
 *     --workers             nobody is killed: any worker ends in the middle of its work, in any way, with --every one
 *                           after the other; a thread is blocked for 10 s
 *     --probe               with --power: no store, but what the system's own answers are worth around a power cut
 */
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../src/base/random.ts';
import { setWorkerFiles } from '../../src/index.ts';
import { whyNoShim } from '../support/fault-shim.ts';
import { type CampaignFigures, runCampaign } from './campaign.ts';
import { type FaultFigures, runFaultCampaign } from './fault-campaign.ts';
import { type FileSystemName, whyNoImageMounts } from './image-mounts.ts';
import { chooseWeapon } from './moment.ts';
import { probeSync, WAYS } from './sync-probe.ts';
import { anyDeath, blockThread, everyDeath, loseWorker } from './worker-campaign.ts';
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
    faults: { type: 'boolean', default: false },
    workers: { type: 'boolean', default: false },
    probe: { type: 'boolean', default: false },
  },
});
const { power, workload } = values;
if (power !== undefined && !isFileSystem(power)) throw new Error('--power is ext4 or xfs');
if (workload !== undefined) workloadNamed(workload);

// Each kill is followed by one or two recoveries, whose threads start sooner from the files that are published.
const BUNDLE = new URL('../../bundle/', import.meta.url);
setWorkerFiles({ wal: new URL('wal.worker.js', BUNDLE), pool: new URL('pool.worker.js', BUNDLE) });

const { weapon, reason } = chooseWeapon();
if (reason !== undefined) console.log(reason);
// By the clock alone there is no operation to kill at.
const isEvery: boolean = values.every && weapon !== 'clock';
const unable = power === undefined ? undefined : whyNoImageMounts(power);
if (unable !== undefined) console.log(`skipped, for no power can be cut here: ${unable}`);
else if (values.probe) await probe(power);
else if (values.faults) await fail();
else if (values.workers) await loseWorkers();
else await run(power);

function isFileSystem(name: string): name is FileSystemName {
  return name === 'ext4' || name === 'xfs';
}

async function fail(): Promise<void> {
  const unable = whyNoShim();
  if (unable !== undefined) {
    console.log(`skipped, for no operation can be failed here: ${unable}`);
    return;
  }
  const seed = Number(values.seed ?? 1);
  const told = ({ faults, stopped, records, latest }: FaultFigures): string =>
    `${faults} faults, ${stopped} stores stopped (up to operation ${latest}), ${records} acknowledged records`;
  const figures = await runFaultCampaign({
    seed,
    seconds: Number(values.seconds),
    faults: Number(values.kills),
    ...(values.every ? { every: Number(values.from) } : {}),
    progress: (reached) => {
      if (reached.faults % 50 === 0) console.log(told(reached));
    },
  });
  console.log(`${told(figures)}: nothing was tried again, reads went on, all were there`);
}

async function loseWorkers(): Promise<void> {
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  console.log(`seed ${seed}`);
  const end = performance.now() + 1_000 * Number(values.seconds);
  let losses = 0;
  await blockThread(10_000, seed);
  const deaths = values.every ? everyDeath(Number(values.from)) : anyDeath(new SeededRandom(seed));
  for (const death of deaths) {
    if (performance.now() >= end && losses > 0) break;
    const happened = await loseWorker(death, death.call).catch((cause: unknown) => {
      throw new Error(JSON.stringify(death), { cause });
    });
    if (happened) losses += 1;
  }
  console.log(
    `a thread was blocked for 10 s, and ${losses} workers ended in the middle of their work: nothing was lost`,
  );
}

async function probe(fileSystem?: FileSystemName): Promise<void> {
  if (fileSystem === undefined) throw new Error('--probe goes with --power');
  const cuts = values.kills === 'Infinity' ? 100 : Number(values.kills);
  for (const way of WAYS) {
    const random = new SeededRandom(Number(values.seed ?? 1));
    const { answers, late, lostEarly, lostLate } = await probeSync(fileSystem, way, cuts, random);
    console.log(
      `${fileSystem}, ${way}, ${cuts} cuts: ${answers} answers, ${lostEarly} of those before the cut were lost; ` +
        `${late} came after it had begun, of which ${lostLate} were lost`,
    );
  }
}

async function run(power?: FileSystemName): Promise<void> {
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  console.log(`seed ${seed}`);
  const told = ({ kills, atOperations, records, operation }: CampaignFigures): string =>
    `${kills} kills, ${atOperations} of them at a file operation${isEvery ? ` (up to ${operation})` : ''}, ` +
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
    ...(isEvery ? { every: Number(values.from) } : {}),
    ...(power === undefined ? {} : { power }),
  });
  console.log(`${told(figures)}: all were there, each once and in its place`);
}
