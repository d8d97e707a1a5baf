/**
 * Finds work and has it done: in the background at an interval, and on demand until nothing is due. Several of them may
 * work on one store, in any number of processes: the coordinator gives each object to one job at a time.
 */
import type { Announcer } from '../base/channels.ts';
import { throwIfAborted } from '../errors/aborted.ts';
import { checkSignal, flag, invalid, shown } from '../errors/argument-checks.ts';
import { isMillraceError, MillraceError, packError, unpackError } from '../errors/millrace-error.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import type { JobPlan } from '../coordinator/job.ts';
import { countJob, type CompactionCounters, newCounters } from './counters.ts';
import { type JobEnvironment, type JobReport, runPlan } from './job-run.ts';
import { planJobs } from './plan.ts';
import { RestingInputs } from './resting-inputs.ts';
import { surveyOf } from './survey.ts';
import { ViewLoader } from './view-loader.ts';

export interface CompactionAgentOptions extends Omit<JobEnvironment, 'signal'> {
  /** Default nobody hears of the jobs. */
  readonly announcer?: Announcer;
}

const REQUEST_OPTIONS: ReadonlySet<string> = new Set(['stream', 'force', 'signal']);

/** What `compact` is to do. */
export interface CompactRequest {
  /** Only objects that hold this stream. Default all. */
  readonly stream?: string;
  /** Ignore ages and ratios. Default false. */
  readonly force?: boolean;
  /** Ends the work between two rounds of jobs, with `ERR_MILLRACE_ABORTED`. What was committed stays. */
  readonly signal?: AbortSignal;
}

/** What one call of `compact` has done. */
export interface CompactSummary {
  /** Jobs that were committed. */
  jobs: number;
  /** Objects that they read. */
  inputs: number;
  /** Objects that they wrote. */
  outputs: number;
  /** Bytes read. */
  readBytes: number;
  /** Bytes written. */
  writtenBytes: number;
  /** User records that are in no output: trimmed ones, and those that a later one of their key replaces. */
  recordsDropped: number;
}

/** Rounds in a row that end with retryable errors, or in which others had all the inputs, before `compact` gives up. */
const FRUITLESS_ROUNDS_MAX = 5;
const FRUITLESS_PAUSE = 200;
/** Pauses between rounds grow up to this while the coordinator cannot be reached. */
const PAUSE_MAX = 300_000;

interface Round {
  readonly planned: number;
  readonly reports: readonly JobReport[];
  readonly errors: readonly MillraceError[];
}

export class CompactionAgent {
  readonly counters: CompactionCounters = newCounters();
  readonly #options: CompactionAgentOptions;
  readonly #views: ViewLoader;
  readonly #resting: RestingInputs;
  readonly #stopping: AbortController = new AbortController();
  #background: Promise<void> | undefined;
  #paused = false;
  /** Rounds follow each other: two at once would plan the same jobs. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: CompactionAgentOptions) {
    this.#options = options;
    this.#views = new ViewLoader(options.coordinator, options.settings);
    this.#resting = new RestingInputs(options.clock);
  }

  /** Looks for work from now on. */
  start(): void {
    this.#background ??= this.#loop();
  }

  /** Gives running jobs up and waits until nothing of them is left. Calls of `compact` reject. Final. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#background;
    await this.#turn;
  }

  /** Starts no more jobs in the background of this process; running ones go on, and so does `compact`. */
  pause(): void {
    this.#paused = true;
    this.counters.paused = true;
  }

  /** Ends the pause of this process; one of the whole store stays. */
  resume(): void {
    this.#paused = false;
    this.counters.paused = false;
  }

  /**
   * Runs jobs until none is due. Rejects with the error of a job that cannot succeed (an input is missing or damaged)
   * once the others have ended; `ERR_MILLRACE_STREAM_NOT_FOUND`, `ERR_MILLRACE_CLOSED`.
   */
  async compact(request: CompactRequest = {}): Promise<CompactSummary> {
    checkOptionNames(request, REQUEST_OPTIONS, 'compact');
    const force = flag('force', request.force);
    checkSignal(request.signal);
    const streamId = await this.#streamIdOf(request.stream);
    const summary = { jobs: 0, inputs: 0, outputs: 0, readBytes: 0, writtenBytes: 0, recordsDropped: 0 };
    for (let fruitless = 0; ;) {
      this.#throwIfStopped();
      throwIfAborted(request.signal);
      const round = await this.#inTurn(() => this.#round(force, streamId, false));
      addRound(summary, round);
      if (round.planned === 0) return summary;
      const failure = round.errors.find(({ retryable }) => !retryable);
      if (failure !== undefined) throw failure;
      if (round.reports.length > 0) {
        fruitless = 0;
        continue;
      }
      fruitless += 1;
      if (fruitless === FRUITLESS_ROUNDS_MAX) {
        const [error] = round.errors;
        if (error !== undefined) throw error;
        // Others have the inputs, and finish what they have begun.
        return summary;
      }
      await this.#options.sleep(FRUITLESS_PAUSE * fruitless);
    }
  }

  async #loop(): Promise<void> {
    const { sleep, settings } = this.#options;
    const { signal } = this.#stopping;
    let pause = settings.interval;
    while (!signal.aborted) {
      await sleep(pause, signal);
      if (signal.aborted || this.#paused) continue;
      try {
        this.counters.paused = await this.#options.coordinator.compactionPaused();
        if (this.counters.paused) continue;
        await this.#inTurn(() => this.#round(false, undefined, true));
        pause = settings.interval;
      } catch (error) {
        this.#countFailure(error);
        pause = Math.min(pause * 2, Math.max(PAUSE_MAX, settings.interval));
      }
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Plans once and runs the plans. `rested`: leave out inputs that have failed lately. */
  async #round(force: boolean, streamId: number | undefined, rested: boolean): Promise<Round> {
    const loaded = await this.#views.load(force);
    this.counters.survey = surveyOf(loaded);
    const view = rested ? this.#resting.without(loaded) : loaded;
    const plans = planJobs({ view, settings: this.#options.settings, force, streamId });
    const reports: JobReport[] = [];
    const errors: MillraceError[] = [];
    const queue = plans[Symbol.iterator]();
    const lanes = Math.min(plans.length, this.#options.settings.maxConcurrentJobs);
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (const plan of queue) {
          if (this.#stopping.signal.aborted) return;
          try {
            const report = await this.#run(plan);
            if (report !== undefined) reports.push(report);
          } catch (error) {
            errors.push(codedError(error));
          }
        }
      }),
    );
    if (errors.length === 0) this.counters.lastSuccessAt = this.#options.clock.now();
    return { planned: plans.length, reports, errors };
  }

  async #run(plan: JobPlan): Promise<JobReport | undefined> {
    this.counters.running += 1;
    const startedAt = this.#options.clock.monotonic();
    try {
      const hints = { ...plan.hints, joinRuns: !this.#resting.hadConflict(plan) };
      const report = await runPlan({ ...plan, hints }, { ...this.#options, signal: this.#stopping.signal });
      if (report === undefined) return undefined;
      this.#resting.succeeded(plan);
      countJob(this.counters, report);
      this.#tell(report, startedAt);
      return report;
    } catch (error) {
      if (!this.#stopping.signal.aborted) {
        this.#resting.failed(plan, error);
        this.#countFailure(error);
      }
      throw error;
    } finally {
      this.counters.running -= 1;
    }
  }

  #tell({ plan, inputs, outputs, result }: JobReport, startedAt: number): void {
    this.#options.announcer?.tell('compaction', () => {
      const { readBytes, writtenBytes, recordsDropped } = result.counters;
      const duration = this.#options.clock.monotonic() - startedAt;
      return { kind: plan.kind, inputs, outputs, readBytes, writtenBytes, recordsDropped, duration };
    });
  }

  #countFailure(error: unknown): void {
    this.#options.announcer?.tell('error', () => ({ where: 'compaction' as const, error }));
    this.counters.failures += 1;
    if (isMillraceError(error, 'ERR_MILLRACE_LEASE_LOST')) this.counters.leasesLost += 1;
    if (isMillraceError(error, 'ERR_MILLRACE_CONFLICT')) this.counters.conflicts += 1;
    this.counters.lastError = isMillraceError(error) ? error.code : String(error);
  }

  async #streamIdOf(name: string | undefined): Promise<number | undefined> {
    if (name === undefined) return undefined;
    if (typeof name !== 'string') throw invalid(`option stream is the name of a stream, not ${shown(name)}`);
    const stream = await this.#options.coordinator.findStream(name);
    if (stream !== undefined) return stream.streamId;
    throw new MillraceError('ERR_MILLRACE_STREAM_NOT_FOUND', `there is no stream ${JSON.stringify(name)} to compact`, {
      details: { stream: name },
    });
  }

  #throwIfStopped(): void {
    if (!this.#stopping.signal.aborted) return;
    throw new MillraceError('ERR_MILLRACE_CLOSED', 'compaction was stopped');
  }
}

/** A broken invariant or a dead worker ends `compact` like any other failure of a job. */
function codedError(error: unknown): MillraceError {
  return isMillraceError(error) ? error : unpackError(packError(error, 'ERR_MILLRACE_WORKER_DIED'));
}

function addRound(summary: CompactSummary, { reports }: Round): void {
  for (const { inputs, outputs, result } of reports) {
    summary.jobs += 1;
    summary.inputs += inputs;
    summary.outputs += outputs;
    summary.readBytes += result.counters.readBytes;
    summary.writtenBytes += result.counters.writtenBytes;
    summary.recordsDropped += result.counters.recordsDropped;
  }
}
