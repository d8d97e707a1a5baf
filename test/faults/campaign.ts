/**
 * Random workloads on a simulated disk that loses power at every step, and fails single calls. A failure is made
 * smaller.
 */
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { RingSupply } from '../../src/testing/simulated-environment.ts';
import { type FaultPlan, NO_FAULT, runFaultCase } from './disk-errors.ts';
import { type Counts, explore, type ExploreOptions, newCounts } from './explore.ts';
import { runSharedCase } from './shared.ts';
import { drawWorkload, type Workload } from './steps.ts';

const STEPS_MIN = 4;
const STEPS_MAX = 40;
/** Runs of each workload with another call that fails. */
const FAULTS_PER_WORKLOAD = 5;
/** After so many workloads, clients share a store once. */
const WORKLOADS_PER_SHARED = 4;
/** The most that any call has. */
const FAULT_CHOICES = 6;
/** Things that the clients of a shared store do. */
const SHARED_STEPS = 60;
/** Milliseconds after which a failure is as small as it gets. */
const SHRINK_MAX = 60_000;

/** The workload of one seed. */
export function workloadOf(seed: number): Workload {
  const random = new SeededRandom(seed);
  return drawWorkload(random, STEPS_MIN + random.below(STEPS_MAX - STEPS_MIN));
}

/** A workload in which something goes wrong. */
export interface FailingCase {
  readonly seed: number;
  /** Indexes of the steps that are left of it. */
  readonly steps: readonly number[];
  /** The call that fails; `undefined`: power is lost. */
  readonly plan?: FaultPlan;
  /** No workload of one process, but so many steps of clients that share a store. */
  readonly shared?: number;
}

export interface Failure extends FailingCase {
  readonly error: Error;
}

type DiskFaults = Pick<ExploreOptions, 'onCall'>;

export interface CampaignOptions extends DiskFaults {
  readonly seed: number;
  /** The campaign ends after these, or so many states. */
  readonly seconds: number;
  readonly states?: number;
  /** Lets every call of a workload fail in every way, instead of some. Default false. */
  readonly everyCall?: boolean;
  readonly progress?: (counts: Counts) => void;
  /** Told of what went wrong before it is made smaller. */
  readonly failed?: (error: unknown) => void;
}

/** Runs until time is up or something goes wrong. */
export async function runCampaign(options: CampaignOptions): Promise<{ counts: Counts; failure?: Failure }> {
  await loadChecksum();
  const { onCall, states = Infinity } = options;
  const faults = onCall === undefined ? {} : { onCall };
  const counts = newCounts();
  const random = new SeededRandom(options.seed);
  const end = performance.now() + 1_000 * options.seconds;
  const isLate = (): boolean => performance.now() > end || counts.states >= states;
  const rings = new RingSupply();
  while (!isLate()) {
    options.progress?.(counts);
    const seed = random.uint32();
    const workload = workloadOf(seed);
    let plan: FaultPlan | undefined;
    let shared: number | undefined;
    try {
      await explore({ seed, workload, counts, rings, isLate, ...faults });
      plan = NO_FAULT;
      const calls = await runFaultCase({ seed, workload, plan, rings });
      for (const chosen of options.everyCall === true ? everyFault(calls) : someFaults(calls, random)) {
        if (isLate()) break;
        plan = chosen;
        await runFaultCase({ seed, workload, plan, rings });
        counts.failedCalls += 1;
      }
      if (counts.workloads % WORKLOADS_PER_SHARED !== 1) continue;
      shared = SHARED_STEPS;
      counts.sharedRecords += await runSharedCase({ seed, steps: shared, rings });
    } catch (error) {
      options.failed?.(error);
      const what = shared !== undefined ? { shared } : plan !== undefined ? { plan } : {};
      const failing = { seed, steps: [...workload.steps.keys()], ...what };
      return { counts, failure: await shrink({ ...failing, error: error as Error }, faults) };
    }
  }
  return { counts };
}

function* someFaults(calls: number, random: SeededRandom): Generator<FaultPlan> {
  for (let count = 0; count < FAULTS_PER_WORKLOAD; count += 1) {
    yield { call: random.below(calls), choice: random.below(FAULT_CHOICES), sticky: random.below(2) === 0 };
  }
}

/** Each call with each of its faults, once and from then on. */
function* everyFault(calls: number): Generator<FaultPlan> {
  for (let call = 0; call < calls; call += 1) {
    for (let choice = 0; choice < FAULT_CHOICES; choice += 1) {
      for (const sticky of [false, true]) yield { call, choice, sticky };
    }
  }
}

/** Repeats some steps of the workload of a seed; resolves with what goes wrong. */
export async function replay(
  { seed, steps, plan, shared }: FailingCase,
  faults: DiskFaults = {},
): Promise<Error | undefined> {
  await loadChecksum();
  const whole = workloadOf(seed);
  const workload = { ...whole, steps: steps.flatMap((index) => whole.steps[index] ?? []) };
  const rings = new RingSupply();
  try {
    if (shared !== undefined) await runSharedCase({ seed, steps: shared, rings });
    else if (plan === undefined) await explore({ seed, workload, counts: newCounts(), rings, ...faults });
    else await runFaultCase({ seed, workload, plan, rings });
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Leaves out ever smaller parts, as long as something goes wrong without them. */
async function shrink(failure: Failure, faults: DiskFaults): Promise<Failure> {
  const end = performance.now() + SHRINK_MAX;
  let { steps, error } = failure;
  // Fewer steps of clients are another run: only those that went wrong themselves would show the same.
  if (failure.shared !== undefined) return failure;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < steps.length && performance.now() < end;) {
      const rest = [...steps.slice(0, from), ...steps.slice(from + size)];
      const found = await replay({ ...failure, steps: rest }, faults);
      if (found === undefined) from += size;
      else [steps, error] = [rest, found];
    }
  }
  return { ...failure, steps, error };
}

/** How to see it again. */
export function commandFor({ seed, steps, plan, shared }: FailingCase): string {
  if (shared !== undefined) return `npm run test:faults -- --seed ${seed} --shared ${shared}`;
  const fault = plan === undefined ? '' : ` --fault ${plan.call},${plan.choice},${plan.sticky}`;
  return `npm run test:faults -- --seed ${seed} --replay ${steps.join(',') || 'none'}${fault}`;
}
