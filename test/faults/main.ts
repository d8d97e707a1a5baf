/**
 * `npm run test:faults -- [--seed <number>] [--seconds <number>] [--jobs <number>] [--every-call]`: the campaign, in as
 * many processes as there are processors. A failure is printed as a command that repeats it, with
 * `--replay <steps> [--fault <call>,<choice>,<sticky>]` or `--shared <steps>`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { commandFor, type FailingCase, replay, runCampaign, workloadOf } from './campaign.ts';
import { addCounts, type Counts, newCounts } from './explore.ts';

const SECONDS_DEFAULT = 110;
const REPORT_INTERVAL = 10_000;
/** What a state needs is soon garbage: an eighth of the time went into collecting it in spaces of the usual size. */
const YOUNG_SPACE = '--max-semi-space-size=64';

/** What a process has done so far. */
interface Progress {
  readonly counts: Counts;
  /** Microseconds of a processor. */
  readonly cpu: number;
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const { values } = parseArgs({
  options: {
    seed: text,
    seconds: text,
    jobs: text,
    replay: text,
    fault: text,
    shared: text,
    'every-call': flag,
    /** This process is one of several. */
    job: flag,
  },
});

async function main(): Promise<void> {
  const seed = Number(values.seed ?? Date.now() % 2 ** 32);
  if (values.replay !== undefined) {
    const steps = values.replay
      .split(',')
      .filter((step) => /^\d+$/.test(step))
      .map(Number);
    for (const index of steps) console.log(index, JSON.stringify(workloadOf(seed).steps[index]));
    await repeat({ seed, steps, ...parsePlan(values.fault) });
  } else if (values.shared !== undefined) {
    await repeat({ seed, steps: [], shared: Number(values.shared) });
  } else if (values.job) {
    await runJob(seed);
  } else {
    await runJobs(seed, Number(values.jobs ?? availableParallelism()));
  }
}

async function repeat(failing: FailingCase): Promise<void> {
  const error = await replay(failing);
  if (error !== undefined) throw error;
  console.log('nothing goes wrong');
}

function parsePlan(plan: string | undefined): Pick<FailingCase, 'plan'> {
  if (plan === undefined) return {};
  const [call, choice, sticky] = plan.split(',');
  return { plan: { call: Number(call), choice: Number(choice), sticky: sticky === 'true' } };
}

/** A part of the campaign, in a process of its own. */
async function runJob(seed: number): Promise<void> {
  let shown = performance.now();
  const send = (counts: Counts): void => {
    const { user, system } = process.cpuUsage();
    process.send?.({ counts, cpu: user + system } satisfies Progress);
  };
  const { counts, failure } = await runCampaign({
    seed,
    seconds: Number(values.seconds ?? SECONDS_DEFAULT),
    everyCall: values['every-call'],
    progress: (soFar) => {
      if (performance.now() - shown < REPORT_INTERVAL / 2) return;
      shown = performance.now();
      send(soFar);
    },
    failed: (error) => {
      console.error(error);
      console.error('making it smaller');
    },
  });
  send(counts);
  if (failure !== undefined) {
    console.error(failure.error);
    console.error(`again: ${commandFor(failure)}`);
    process.exitCode = 1;
  }
  process.disconnect?.();
}

/** Each job has a seed of its own, one behind the other. */
async function runJobs(seed: number, jobs: number): Promise<void> {
  console.log(`seed ${seed}`);
  const done: Progress[] = [];
  const execArgv = [...process.execArgv, YOUNG_SPACE];
  const timer = setInterval(() => console.log(report(done)), REPORT_INTERVAL);
  const run = async (index: number): Promise<void> => {
    const options = ['--job', '--seed', String(seed + index)];
    if (values.seconds !== undefined) options.push('--seconds', values.seconds);
    if (values['every-call']) options.push('--every-call');
    const job: ChildProcess = fork(process.argv[1] ?? '', options, { serialization: 'advanced', execArgv });
    job.on('message', (progress) => {
      done[index] = progress as Progress;
    });
    const [code] = (await once(job, 'exit')) as [number | null];
    if (code !== 0) process.exitCode = 1;
  };
  await Promise.all(Array.from({ length: jobs }, (_, index) => run(index)));
  clearInterval(timer);
  console.log(report(done));
}

/** Per second of one processor: on a machine that does other things too, wall time says little. */
function report(done: readonly (Progress | undefined)[]): string {
  const counts = newCounts();
  let cpu = 0;
  for (const progress of done) {
    if (progress === undefined) continue;
    addCounts(counts, progress.counts);
    cpu += progress.cpu;
  }
  const { workloads, states, draws, opened, parts, duringRecovery, continued, failedCalls, sharedRecords } = counts;
  const rate = Math.round((1_000_000 * states) / Math.max(1, cpu));
  return [
    `${workloads} workloads, ${states} states after a power loss, ${rate} a second of a processor (${draws} drawn):`,
    `  ${opened} stores opened, and ${parts} manifests and logs recovered: the others differ from one of`,
    '    these in nothing that opening reads',
    `  ${duringRecovery} lost power in recovery, and ${continued} stores were written to and opened again`,
    `${failedCalls} workloads with a failing call`,
    `${sharedRecords} records acknowledged over unreliable services`,
  ].join('\n');
}

await main();
