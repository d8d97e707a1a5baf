/** Kills processes that work on stores, one after the other, and checks each store after each kill. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import type { OperationCounts } from '../support/fault-shim.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type Death, killRound } from './campaign-round.ts';
import { CuttableDisk } from './cuttable-disk.ts';
import { Expectation } from './expectation.ts';
import type { FileSystemName } from './image-mounts.ts';
import { chooseWeapon, isTimed, type Moment, randomMoment, type Weapon, WORK_MAX } from './moment.ts';
import { WORKLOADS, workloadNamed } from './workloads.ts';

/** A store is thrown away after so many at most, so that checking it stays quick. */
const KILLS_PER_STORE = 15;
/** A store whose births matter, after so many. */
const KILLS_PER_BIRTH = 3;

export interface CampaignOptions {
  readonly seed: number;
  readonly seconds: number;
  /** At most so many kills. Default no limit. */
  readonly kills?: number;
  /** Default: one after the other, 15; else any number up to that, so that every workload soon has its turn. */
  readonly killsPerStore?: number;
  /** Names of workloads, which take turns store by store. Default all, in an order that the seed decides. */
  readonly workloads?: readonly string[];
  /** Before and after one file operation after the other, from this one on. Default: at random moments. */
  readonly every?: number;
  /** Cut the power of a disk with this file system, too. */
  readonly power?: FileSystemName;
  readonly weapon?: Weapon;
  readonly progress?: (figures: CampaignFigures) => void;
}

export interface CampaignFigures {
  readonly kills: number;
  /** Of those, at a file operation. */
  readonly atOperations: number;
  /** Records that were acknowledged, and found again. */
  readonly records: number;
  /** The operation that a process of each workload is killed at next, where that goes one by one. */
  readonly operation: number;
}

function shuffled(names: readonly string[], random: SeededRandom): string[] {
  const left = [...names];
  return names.flatMap(() => left.splice(random.below(left.length), 1));
}

/** Whether a process had all its time, for the operation that it was to be killed at never came, or there was none. */
function isWhole(moment: Moment, { by }: Death): boolean {
  return by === 'time' && (!isTimed(moment) || (moment.afterOpen && moment.milliseconds >= WORK_MAX));
}

/** Moments one after the other: before and after each operation, the same for every workload. */
function* everyMoment(first: number): Generator<Moment> {
  for (let number = first; ; number += 1) {
    for (const after of [false, true]) yield { rule: { operation: 'any', first: number }, after };
  }
}

/**
 * Goes on beyond its time until something was acknowledged. Rejects with what is wrong, the store's directory in the
 * message.
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignFigures> {
  const { seed, seconds, kills: most = Infinity, power, progress, every } = options;
  const { weapon = chooseWeapon().weapon, killsPerStore } = options;
  await loadChecksum();
  const random = new SeededRandom(seed);
  const workloads = options.workloads ?? shuffled(Object.keys(WORKLOADS), random);
  const end = performance.now() + 1_000 * seconds;
  const sweeps = new Map(workloads.map((name) => [name, everyMoment(every ?? 1)]));
  let figures: CampaignFigures = { kills: 0, atOperations: 0, records: 0, operation: every ?? 1 };
  const directory = temporaryDirectory();
  const disk = power === undefined ? undefined : new CuttableDisk(directory.path, power);
  const isDone = (): boolean => figures.kills >= most || (performance.now() >= end && figures.records > 0);
  // What a process does depends on what the machine lets it do, so that is counted on the way, by workload.
  const counts = new Map<string, OperationCounts | undefined>();
  for (let number = 0; !isDone(); number += 1) {
    const workload = workloads[number % workloads.length] as string;
    const dir = join(disk?.path ?? directory.path, `store-${number}`);
    const expectation = new Expectation(workloadNamed(workload));
    const { records } = figures;
    const longest = every === undefined ? 1 + random.below(KILLS_PER_STORE) : KILLS_PER_STORE;
    const rounds = workloadNamed(workload).births === true ? KILLS_PER_BIRTH : (killsPerStore ?? longest);
    for (let round = 0; round < rounds && !isDone(); round += 1) {
      const next = every === undefined ? undefined : sweeps.get(workload)?.next();
      const moment: Moment =
        next === undefined || next.done === true
          ? randomMoment(random, weapon, { work: workloadNamed(workload).work, counts: counts.get(workload) })
          : next.value;
      const what = `${workload}, seed ${seed}, kill ${figures.kills + 1}, ${JSON.stringify(moment)}, ${dir}`;
      const where = disk === undefined ? {} : { disk };
      const shared = { dir, scratch: directory.path, random, workload, moment, weapon, expectation, ...where };
      const death = await killRound(shared).catch((cause: unknown) => {
        throw new Error(what, { cause });
      });
      const operation = 'rule' in moment ? moment.rule.first : figures.operation;
      const atOperations = figures.atOperations + (death.by === 'operation' ? 1 : 0);
      if (isWhole(moment, death)) counts.set(workload, death.counts);
      figures = { kills: figures.kills + 1, atOperations, records: records + expectation.records, operation };
      progress?.(figures);
    }
    rmSync(dir, { recursive: true, force: true });
  }
  disk?.unmount();
  directory.remove();
  return figures;
}
