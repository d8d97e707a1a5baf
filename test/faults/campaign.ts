/**
 * `npm run test:faults -- [--seed <number>] [--seconds <number>] [--every-call]`: random workloads on a simulated disk
 * that loses power at every step, and fails single calls. A failure is made smaller and printed as a command that
 * repeats it, with `--replay <steps> [--fault <call>,<choice>,<sticky>]` or `--shared <steps>`.
 */
import { parseArgs } from 'node:util';
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
const FAULTS_PER_WORKLOAD = 12;
/** The most that any call has. */
const FAULT_CHOICES = 6;
/** Things that the clients of a shared store do. */
const SHARED_STEPS = 60;
const SECONDS_DEFAULT = 110;
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
      shared = SHARED_STEPS;
      counts.sharedRecords += await runSharedCase({ seed, steps: shared, rings });
    } catch (error) {
      options.failed?.(error);
      const what = shared !== undefined ? { shared } : plan !== undefined ? { plan } : {};
      const failing = { seed, steps: [...workload.steps.keys()], ...what };
      return { counts, failure: await shrink({ ...failing, error: error as Error }, faults) };
    }
    options.progress?.(counts);
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

function parsePlan(text: string | undefined): Pick<FailingCase, 'plan'> {
  if (text === undefined) return {};
  const [call, choice, sticky] = text.split(',');
  return { plan: { call: Number(call), choice: Number(choice), sticky: sticky === 'true' } };
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      seed: text,
      seconds: text,
      replay: text,
      fault: text,
      shared: text,
      'every-call': { type: 'boolean', default: false },
    },
  });
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  if (values.replay !== undefined) {
    const steps = values.replay.split(',').map(Number).filter(Number.isInteger);
    for (const index of steps) console.log(index, JSON.stringify(workloadOf(seed).steps[index]));
    const error = await replay({ seed, steps, ...parsePlan(values.fault) });
    if (error !== undefined) throw error;
    console.log('nothing goes wrong');
    return;
  }
  if (values.shared !== undefined) {
    const error = await replay({ seed, steps: [], shared: Number(values.shared) });
    if (error !== undefined) throw error;
    console.log('nothing goes wrong');
    return;
  }
  console.log(`seed ${seed}`);
  let shown = performance.now();
  const progress = (counts: Counts): void => {
    if (performance.now() - shown < 10_000) return;
    shown = performance.now();
    console.log(report(counts));
  };
  const seconds = Number(values.seconds ?? SECONDS_DEFAULT);
  const failed = (error: unknown): void => {
    console.error(error);
    console.error('making it smaller');
  };
  const { counts, failure } = await runCampaign({ seed, seconds, progress, failed, everyCall: values['every-call'] });
  console.log(report(counts));
  if (failure === undefined) return;
  console.error(failure.error);
  console.error(`again: ${commandFor(failure)}`);
  process.exitCode = 1;
}

/** Per second of one processor: on a machine that does other things too, wall time says little. */
function report(counts: Counts): string {
  const { user, system } = process.cpuUsage();
  const { states, tears, opened, tearsRepeated } = counts;
  const rate = Math.round((1_000_000 * (states + tears)) / (user + system));
  const { duringRecovery, continued, failedCalls, sharedRecords } = counts;
  return [
    `${counts.workloads} workloads, ${states + tears} states after a power loss, ${rate} a second of a processor:`,
    `  ${states} of whole stores, all of their content held against what was acknowledged: ${opened} differ and were`,
    '    opened, the others equal one of these in every byte',
    `    (${duringRecovery} lost power in recovery, and ${continued} stores were written to and opened again)`,
    `  ${tears} torn writes of the WAL or the manifest, recovered by the log alone; ${tearsRepeated} left the same`,
    `${failedCalls} workloads with a failing call`,
    `${sharedRecords} records acknowledged over unreliable services`,
  ].join('\n');
}

if (process.argv[1] === import.meta.filename) await main();
