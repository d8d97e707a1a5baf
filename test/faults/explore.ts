/**
 * Runs a workload once, and loses power at every step of the disk on its way: of each state that a loss may leave, a
 * store is opened and held against what was acknowledged at that step. Recoveries lose power in their middle, too.
 */
import assert from 'node:assert/strict';
import { SeededRandom } from '../../src/base/random.ts';
import { xxh64 } from '../../src/codec/checksum.ts';
import { randomSurvival } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import type { RingSupply } from '../../src/testing/simulated-environment.ts';
import { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { checkStore, type Floor } from './check.ts';
import { lossesAt } from './draws.ts';
import { KnownDisks } from './known-disks.ts';
import { Oracle } from './oracle.ts';
import {
  type CrashPoint,
  killed,
  recordRecovery,
  recover,
  type RecoveryOptions,
  type RecoveryStep,
} from './recovery.ts';
import type { Workload } from './steps.ts';
import { settle, Worker } from './worker.ts';

/** Disks that losses at one step leave, at most. */
const STATES_OF_STEP = 1_024;
/** One in so many recoveries loses power itself, at so many of its steps. */
const RECOVERIES_INTERRUPTED = 500;
/** The same of those after a kill, of which a step has one: what they read may not be on the disk yet. */
const KILLS_INTERRUPTED = 40;
const STEPS_OF_RECOVERY = 20;
const STATES_OF_RECOVERY_STEP = 16;
/** One in so many recovered stores goes on: it is written to, verified and opened again. */
const STORES_CONTINUED = 450;

export interface Counts {
  /** Disks that a loss left, and what is on them held against the oracle. */
  states: number;
  /** Of them, after a loss during a recovery. */
  duringRecovery: number;
  /** Losses drawn, many of which left what another one had left. */
  draws: number;
  /** Of the states, opened and read. The others equal one of these in all that opening reads. */
  opened: number;
  /** Manifests and logs recovered, alone, to see what an opening would find in them. */
  parts: number;
  /** Of them, written to and opened again. */
  continued: number;
  workloads: number;
  /** Workloads during which a call of the disk failed. */
  failedCalls: number;
  /** Records that clients of shared stores were told are durable, and that were found. */
  sharedRecords: number;
  /** Of all that happened, in order: equal for equal seeds. */
  trace: bigint;
}

export function newCounts(): Counts {
  return {
    states: 0,
    duringRecovery: 0,
    draws: 0,
    opened: 0,
    parts: 0,
    continued: 0,
    workloads: 0,
    failedCalls: 0,
    sharedRecords: 0,
    trace: 0n,
  };
}

/** Traces are of one run each, and not added. */
export function addCounts(sum: Counts, counts: Counts): void {
  for (const key of Object.keys(sum) as (keyof Counts)[]) if (key !== 'trace') sum[key] += counts[key];
}

/** A step at which power may be lost, and what was going on. */
interface LossPoint extends CrashPoint {
  readonly during: string;
}

export interface ExploreOptions {
  readonly seed: number;
  readonly workload: Workload;
  readonly counts: Counts;
  readonly rings: RingSupply;
  /** What becomes of calls of the disk that the workload runs on. */
  readonly onCall?: SimulatedDisk['onCall'];
  /** Ends early, between two states. */
  readonly isLate?: () => boolean;
}

/** Rejects with what is wrong. */
export async function explore(options: ExploreOptions): Promise<void> {
  const { workload, seed, counts } = options;
  const { mode, direct } = workload;
  const random = new SeededRandom(seed);
  const time = new SimulatedTime();
  counts.workloads += 1;
  const begin = (disk: SimulatedDisk, slots: number, oracle: Oracle): Worker => {
    const worker = new Worker({ disk, time, mode, seed: random.uint32(), rings: options.rings, slots }, oracle);
    disk.onCall = options.onCall;
    disk.onStep = ({ operation, path, position }) => {
      const during = `${operation} ${path} ${position ?? ''}`;
      counts.trace = xxh64(Buffer.from(during), counts.trace);
      const { oracle, slots: open } = worker;
      points.push({
        snapshot: disk.snapshot(),
        oracle,
        moment: oracle.now + 1,
        now: time.now(),
        slots: open,
        during,
      });
    };
    return worker;
  };
  let points: LossPoint[] = [];
  let disk = new SimulatedDisk({ direct, now: () => time.now() });
  let worker = begin(disk, 2, new Oracle());
  await worker.open();
  for (const step of [...workload.steps, { do: 'crash', power: true, seed: 0 } as const]) {
    if (step.do !== 'crash') {
      await worker.step(step);
      if (worker.failure !== undefined) throw worker.failure;
      continue;
    }
    const { slots, oracle } = worker;
    const lost = disk.snapshot();
    disk.disconnect();
    worker.environment.dispose();
    await tryLosses(options, random, points);
    points = [];
    disk = step.power ? SimulatedDisk.afterPowerLoss(lost, randomSurvival(new SeededRandom(step.seed))) : killed(lost);
    worker = begin(disk, slots, oracle);
    worker.oracle = oracle.after(await checkStore(await worker.open(), oracle, oracle.now + 1));
  }
  await settle(time, worker.close());
  worker.environment.dispose();
}

async function tryLosses(options: ExploreOptions, random: SeededRandom, points: readonly LossPoint[]): Promise<void> {
  const { counts, rings, workload } = options;
  const known = new KnownDisks({
    opened: (calls) => {
      counts.opened += 1;
      counts.trace = xxh64(Buffer.from(`opened in ${calls} calls`), counts.trace);
    },
    recovered: (answer) => {
      counts.parts += 1;
      counts.trace = xxh64(Buffer.from(`recovered ${answer}`), counts.trace);
    },
  });
  const drawn = (): void => {
    counts.draws += 1;
  };
  for (const point of points) {
    const seed = random.uint32();
    const recovery = { mode: workload.mode, point, seed, rings };
    const decisions = new SeededRandom(seed);
    for (const loss of lossesAt(point.snapshot, decisions, STATES_OF_STEP, drawn)) {
      if (options.isLate?.() === true) return;
      try {
        const found = await known.check(loss, recovery);
        counts.states += 1;
        if (decisions.below(STORES_CONTINUED) === 0) {
          const again = await recover({ ...recovery, disk: SimulatedDisk.of(loss.snapshot, loss.remains), goOn: true });
          assert.deepEqual(again, found, 'a disk shows what one showed that is read alike');
          counts.continued += 1;
        }
        const { snapshot, remains, isKill } = loss;
        if (decisions.below(isKill ? KILLS_INTERRUPTED : RECOVERIES_INTERRUPTED) === 0) {
          const disk = isKill ? killed(snapshot) : SimulatedDisk.of(snapshot, remains);
          await interruptRecovery(counts, { ...recovery, disk }, found, known);
        }
      } catch (error) {
        throw new Error(`power lost during ${point.during}`, { cause: error });
      }
    }
  }
}

/** Power is lost again, at steps of the recovery, and of the flush and the closing behind it. */
async function interruptRecovery(
  counts: Counts,
  first: RecoveryOptions,
  found: Floor,
  known: KnownDisks,
): Promise<void> {
  const drawn = (): void => {
    counts.draws += 1;
  };
  const random = new SeededRandom(first.seed);
  const steps = await recordRecovery(first);
  for (let count = 0; count < STEPS_OF_RECOVERY && steps.length > 0; count += 1) {
    const { snapshot, served, during } = steps[random.below(steps.length)] as RecoveryStep;
    // What the first recovery served to a reader is there for good.
    const again = { ...first, floor: served ? found : undefined };
    for (const loss of lossesAt(snapshot, random, STATES_OF_RECOVERY_STEP, drawn)) {
      try {
        await known.check(loss, again);
      } catch (error) {
        throw new Error(`power lost again, during ${during} of the recovery`, { cause: error });
      }
      counts.states += 1;
      counts.duringRecovery += 1;
    }
  }
}
