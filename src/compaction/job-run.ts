/** The life of one job: claimed, kept alive, run, committed; or given up, with nothing left behind. */
import type { Clock } from '../base/clock.ts';
import type { Coordinator, FoundRun, RunReference } from '../coordinator/coordinator.ts';
import type { CommitJob, Job, JobPlan } from '../coordinator/job.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import type { PackedLayout } from './layout.ts';
import { jobOutput, packLayout } from './layout-message.ts';
import { layOut } from './layout-planner.ts';
import type { Sleep } from './pace.ts';
import type { CompactionRunner, RewriteJob, RewriteResult } from './rewrite-job.ts';
import type { CompactionSettings } from './settings.ts';
import { neededTracking } from './tracking-runs.ts';

export interface JobEnvironment {
  readonly coordinator: Coordinator;
  readonly runner: CompactionRunner;
  readonly objects: ObjectStoreDescriptor;
  readonly storeId: Uint8Array;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly settings: CompactionSettings;
  /** Who claims, for people that look at the jobs of a store. */
  readonly worker: string;
  /** Gives the job up. */
  readonly signal: AbortSignal;
}

/** What a job has done; `undefined` when its inputs were no longer to be had. */
export interface JobReport {
  readonly plan: JobPlan;
  readonly inputs: number;
  readonly outputs: number;
  readonly result: RewriteResult;
}

/** Attempts of a commit whose answer was lost. */
const COMMIT_ATTEMPTS = 8;
const COMMIT_PAUSE = 200;

export async function runPlan(plan: JobPlan, environment: JobEnvironment): Promise<JobReport | undefined> {
  const { coordinator, worker, settings } = environment;
  const job = await coordinator.claimJob(worker, plan, settings.lease);
  if (job === undefined) return undefined;
  return new JobRun(plan, job, environment).run();
}

class JobRun {
  readonly #plan: JobPlan;
  #job: Job;
  readonly #environment: JobEnvironment;
  readonly #cancel: SharedArrayBuffer = new SharedArrayBuffer(4);
  readonly #ended: AbortController = new AbortController();
  #lost = false;
  #keys: readonly string[] = [];

  constructor(plan: JobPlan, job: Job, environment: JobEnvironment) {
    this.#plan = plan;
    this.#job = job;
    this.#environment = environment;
  }

  async run(): Promise<JobReport> {
    const heartbeat = this.#keepAlive();
    const { signal } = this.#environment;
    const cancel = (): void => {
      Atomics.store(new Int32Array(this.#cancel), 0, 1);
    };
    signal.addEventListener('abort', cancel);
    try {
      if (signal.aborted) cancel();
      const { layout, dropped } = await this.#layOut();
      const result = await this.#rewrite(layout);
      this.#throwIfLost();
      const { jobId, token } = this.#job;
      const outputs = result.outputs.map((output) => jobOutput(layout, this.#keys.indexOf(output.key), output));
      await this.#commit({ jobId, token, outputs, dropped });
      return { plan: this.#plan, inputs: this.#job.inputs.length, outputs: result.outputs.length, result };
    } catch (error) {
      await this.#giveUp();
      throw this.#lost ? leaseLost(this.#job, error) : error;
    } finally {
      signal.removeEventListener('abort', cancel);
      this.#ended.abort();
      await heartbeat;
    }
  }

  /** From here on the runs of the inputs are in the layout alone: there are many, and they would stay to the end. */
  async #layOut(): Promise<{ readonly layout: PackedLayout; readonly dropped: readonly RunReference[] }> {
    const layout = layOut(this.#job, await this.#neededTracking(), this.#environment.settings);
    this.#job = { ...this.#job, inputs: this.#job.inputs.map((input) => ({ ...input, runs: [] })) };
    return { layout: packLayout(layout), dropped: layout.dropped };
  }

  /**
   * Of the streams with tracking, or with runs in front of the log start, in the inputs. Asked for after the claim:
   * from then on it can only become less.
   */
  async #neededTracking(): Promise<Map<number, readonly FoundRun[]>> {
    const { coordinator } = this.#environment;
    const logStarts = this.#logStarts();
    const concerned = new Set<number>();
    for (const { runs } of this.#job.inputs) {
      for (const run of runs) {
        const isHeld = run.firstOffset < (logStarts.get(run.streamId) ?? 0);
        if (isHeld || run.trackingBytes > 0 || run.trackingSnapshot) concerned.add(run.streamId);
      }
    }
    const needed = new Map<number, readonly FoundRun[]>();
    for (const streamId of concerned) needed.set(streamId, await neededTracking(coordinator, streamId));
    return needed;
  }

  #logStarts(): Map<number, number> {
    return new Map(this.#job.streams.map(({ stream, firstOffset }) => [stream.streamId, firstOffset]));
  }

  async #rewrite(layout: PackedLayout): Promise<RewriteResult> {
    const { coordinator, runner, objects, storeId, settings } = this.#environment;
    const { now } = await coordinator.stats();
    if (layout.outputs.length > 0) {
      this.#keys = (await coordinator.reserveObjects(layout.outputs.length)).keys;
    }
    const rewrite: RewriteJob = {
      type: 'rewrite',
      kind: this.#job.kind,
      objects,
      storeId,
      createdAt: now,
      inputs: this.#job.inputs.map(({ key, bytes, checksum }) => ({ key, bytes, checksum })),
      layout,
      keys: this.#keys,
      logStarts: this.#logStarts(),
      tombstonesBefore: now - settings.tombstoneRetention,
      bytesPerSecond: settings.bytesPerSecond / settings.maxConcurrentJobs,
      memoryBytes: settings.jobBytes,
      cancel: this.#cancel,
    };
    this.#throwIfLost();
    return runner.rewrite(rewrite);
  }

  /** A lost answer is asked for again: the commit is idempotent by job. */
  async #commit(commit: CommitJob): Promise<void> {
    const { coordinator, sleep } = this.#environment;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await coordinator.commitJob(commit);
        return;
      } catch (error) {
        const inDoubt = isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE');
        if (!inDoubt || attempt === COMMIT_ATTEMPTS) throw error;
      }
      await sleep(COMMIT_PAUSE * attempt);
    }
  }

  /**
   * Renews the lease until the job has ended. A renewal that fails is tried again at the next heartbeat, as long as the
   * lease may still hold; by this thread's own clock, which is the stricter one of the two.
   */
  async #keepAlive(): Promise<void> {
    const { coordinator, settings, clock, sleep } = this.#environment;
    const { signal } = this.#ended;
    const { jobId, token } = this.#job;
    let renewedAt = clock.monotonic();
    while (!signal.aborted) {
      await sleep(settings.heartbeat, signal);
      if (signal.aborted) return;
      const askedAt = clock.monotonic();
      let held: boolean | undefined;
      try {
        held = await coordinator.renewJob(jobId, token, settings.lease);
      } catch {
        held = undefined;
      }
      if (held === true) renewedAt = askedAt;
      if (held === false || clock.monotonic() - renewedAt >= settings.lease) {
        this.#lose();
        return;
      }
    }
  }

  #lose(): void {
    if (this.#ended.signal.aborted) return;
    this.#lost = true;
    Atomics.store(new Int32Array(this.#cancel), 0, 1);
  }

  #throwIfLost(): void {
    if (this.#lost) throw leaseLost(this.#job, undefined);
  }

  /** The outputs become garbage, and the inputs free. What cannot be said now, the coordinator concludes from time. */
  async #giveUp(): Promise<void> {
    const { coordinator } = this.#environment;
    try {
      for (const key of this.#keys) await coordinator.abortObject(key);
      await coordinator.releaseJob(this.#job.jobId, this.#job.token);
    } catch {
      // Reservation and lease end by themselves; the error that led here is the one to report.
    }
  }
}

function leaseLost({ jobId }: Job, cause: unknown): MillraceError {
  if (isMillraceError(cause, 'ERR_MILLRACE_LEASE_LOST')) return cause;
  return new MillraceError('ERR_MILLRACE_LEASE_LOST', `job ${jobId} lost its lease: its outputs are removed`, {
    details: { jobId },
    cause,
  });
}
