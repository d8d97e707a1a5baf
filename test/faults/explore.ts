/**
 * Runs a workload once, and loses power at every step of the disk on its way: of each state that a loss may leave, a
 * store is opened and held against what was acknowledged at that step. Recoveries lose power in their middle, too.
 */
import { SeededRandom } from '../../src/base/random.ts';
import { xxh64 } from '../../src/codec/checksum.ts';
import { randomSurvival } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import type { RingSupply } from '../../src/testing/simulated-environment.ts';
import { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { checkStore, type Floor } from './check.ts';
import { Oracle } from './oracle.ts';
import {
  type CrashPoint,
  KILL,
  KnownDisks,
  recordRecovery,
  recover,
  type RecoveryOptions,
  type RecoveryStep,
} from './recovery.ts';
import type { Workload } from './steps.ts';
import { tearWrite } from './tears.ts';
import { settle, Worker } from './worker.ts';

/** Losses tried at a step at which something is under way; most leave a disk that another one left. */
const LOSSES_PER_STEP = 12;
/** One in so many recoveries loses power itself, at so many of its steps. */
const RECOVERIES_INTERRUPTED = 48;
const STEPS_OF_RECOVERY = 20;
/** One in so many recovered stores goes on: it is written to, verified and opened again. */
const STORES_CONTINUED = 96;

export interface Counts {
  /** Disks that a loss left, and what is on them held against the oracle. */
  states: number;
  /** Of them, after a loss during a recovery. */
  duringRecovery: number;
  /** Of them, opened and read. The others equal one of these in every byte. */
  opened: number;
  /** Of them, written to and opened again. */
  continued: number;
  workloads: number;
  /** Writes of the logs torn, and recovered by the recovery of the log alone. */
  tears: number;
  /** Of them, those that left a disk which another tear of the same write had left. */
  tearsRepeated: number;
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
    opened: 0,
    continued: 0,
    workloads: 0,
    tears: 0,
    tearsRepeated: 0,
    failedCalls: 0,
    sharedRecords: 0,
    trace: 0n,
  };
}

/** A step at which power may be lost, and what was going on. */
interface LossPoint extends CrashPoint {
  readonly during: string;
  /** The file of a write that is under way. */
  readonly written: string | undefined;
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
        written: operation === 'write' ? path : undefined,
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
    const survival = step.power ? randomSurvival(new SeededRandom(step.seed)) : KILL;
    disk = SimulatedDisk.afterPowerLoss(lost, survival);
    worker = begin(disk, slots, oracle);
    worker.oracle = oracle.after(await checkStore(await worker.open(), oracle, oracle.now + 1));
  }
  await settle(time, worker.close());
  worker.environment.dispose();
}

async function tryLosses(options: ExploreOptions, random: SeededRandom, points: readonly LossPoint[]): Promise<void> {
  const { counts, rings, workload } = options;
  const known = new KnownDisks((calls) => {
    counts.opened += 1;
    counts.trace = xxh64(Buffer.from(`opened in ${calls} calls`), counts.trace);
  });
  for (const point of points) {
    await tear(options, random.uint32(), point);
    for (let loss = 0; loss < LOSSES_PER_STEP; loss += 1) {
      if (options.isLate?.() === true) return;
      const survival = loss === 0 ? KILL : randomSurvival(new SeededRandom(random.uint32()));
      const disk = SimulatedDisk.afterPowerLoss(point.snapshot, survival);
      const interrupt = random.below(RECOVERIES_INTERRUPTED) === 0;
      const goOn = random.below(STORES_CONTINUED) === 0;
      const recovery = { mode: workload.mode, point, disk, seed: random.uint32(), rings };
      try {
        const found = await known.check(recovery);
        counts.states += 1;
        if (goOn) {
          await recover({ ...recovery, goOn });
          counts.continued += 1;
        }
        if (interrupt) await interruptRecovery(counts, recovery, found, known);
      } catch (error) {
        throw new Error(`power lost during ${point.during}, loss ${loss}`, { cause: error });
      }
    }
  }
}

async function tear({ counts }: ExploreOptions, seed: number, point: LossPoint): Promise<void> {
  const { snapshot, written: path, now, during } = point;
  if (path === undefined) return;
  try {
    const { tears, repeated } = await tearWrite({ path, snapshot, time: new SimulatedTime(now), seed });
    counts.tears += tears;
    counts.tearsRepeated += repeated;
  } catch (error) {
    throw new Error(`torn: ${during}`, { cause: error });
  }
}

/** Power is lost again, at steps of the recovery, and of the flush and the closing behind it. */
async function interruptRecovery(
  counts: Counts,
  first: RecoveryOptions,
  found: Floor,
  known: KnownDisks,
): Promise<void> {
  const random = new SeededRandom(first.seed);
  const steps = await recordRecovery(first);
  for (let count = 0; count < STEPS_OF_RECOVERY && steps.length > 0; count += 1) {
    const { snapshot, served, during } = steps[random.below(steps.length)] as RecoveryStep;
    const survival = random.below(3) === 0 ? KILL : randomSurvival(new SeededRandom(random.uint32()));
    const disk = SimulatedDisk.afterPowerLoss(snapshot, survival);
    // What the first recovery served to a reader is there for good.
    const again = { ...first, disk, seed: random.uint32(), floor: served ? found : undefined };
    try {
      await known.check(again);
    } catch (error) {
      throw new Error(`power lost again, during ${during} of the recovery`, { cause: error });
    }
    counts.states += 1;
    counts.duringRecovery += 1;
  }
}
