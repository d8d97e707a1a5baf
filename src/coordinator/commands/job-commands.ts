import { invalid } from '../../errors/argument-checks.ts';
import { JOB_KINDS, type Job, type JobInput, type JobPlan, type JobStream } from '../job.ts';
import { runsOfObject } from '../queries/object-queries.ts';
import { describeStream } from '../queries/stream-queries.ts';
import type { StateEvent } from '../state/event.ts';
import type { JobRow } from '../state/rows.ts';
import { keyOf, type State } from '../state/state.ts';
import { checkInteger, checkLabel } from './checks.ts';
import { decide, type Decision } from './decision.ts';

/** Inputs of one job: more would hold too much of the store in one lease. */
const INPUTS_MAX = 10_000;
const LEASE_MAX = 24 * 3_600_000;

export function claimJob(
  state: State,
  worker: string,
  plan: JobPlan,
  leaseMs: number,
  token: string,
): Decision<Job | undefined> {
  checkLabel(worker, 'the name of a worker');
  checkInteger(leaseMs, 'a lease', 1, LEASE_MAX);
  checkPlan(plan);
  const events: StateEvent[] = [];
  const ended = new Set<number>();
  const inputs: JobInput[] = [];
  const inputNumbers: number[] = [];
  for (const key of plan.inputKeys) {
    const object = state.findObject(key);
    if (object?.state !== 'committed') return decide(undefined);
    const holder = object.jobId === undefined ? undefined : state.jobs.get(object.jobId);
    if (holder !== undefined && holder.leaseUntil > state.now) return decide(undefined);
    if (holder !== undefined && !ended.has(holder.jobId)) {
      ended.add(holder.jobId);
      events.push({ type: 'jobEnded', jobId: holder.jobId });
    }
    const { bytes, checksum, generation } = object;
    inputs.push({ key: keyOf(object), bytes, checksum, generation, runs: runsOfObject(state, object) });
    inputNumbers.push(object.number);
  }
  const { kind, hints } = plan;
  const jobId = state.nextJobId;
  const leaseUntil = state.now + leaseMs;
  events.push({ type: 'jobClaimed', jobId, token, kind, worker, leaseUntil, inputs: inputNumbers });
  return decide({ jobId, token, kind, leaseUntil, inputs, streams: streamsOf(state, inputs), hints }, ...events);
}

function checkPlan(plan: JobPlan): void {
  if (!JOB_KINDS.includes(plan.kind)) throw invalid(`the job kind ${plan.kind} is unknown`);
  const { length } = plan.inputKeys;
  checkInteger(length, 'the number of inputs of a job', 1, INPUTS_MAX);
  if (new Set(plan.inputKeys).size !== length) throw invalid('a job names an input twice');
}

function streamsOf(state: State, inputs: readonly JobInput[]): JobStream[] {
  const ids = new Set<number>();
  for (const { runs } of inputs) for (const run of runs) ids.add(run.streamId);
  return [...ids]
    .sort((left, right) => left - right)
    .map((streamId) => {
      const row = state.stream(streamId);
      return { stream: describeStream(row), firstOffset: row.firstOffset, nextOffset: row.nextOffset };
    });
}

/** The job, when the token is current and the lease has not ended. */
export function findJob(state: State, jobId: number, token: string): JobRow | undefined {
  const job = state.jobs.get(jobId);
  return job?.token === token && job.leaseUntil > state.now ? job : undefined;
}

export function renewJob(state: State, jobId: number, token: string, leaseMs: number): Decision<boolean> {
  checkInteger(leaseMs, 'a lease', 1, LEASE_MAX);
  const job = findJob(state, jobId, token);
  if (job === undefined) return decide(false);
  const leaseUntil = Math.max(job.leaseUntil, state.now + leaseMs);
  if (leaseUntil === job.leaseUntil) return decide(true);
  return decide(true, { type: 'jobRenewed', jobId, leaseUntil });
}

export function releaseJob(state: State, jobId: number, token: string): Decision<boolean> {
  if (findJob(state, jobId, token) === undefined) return decide(false);
  return decide(true, { type: 'jobEnded', jobId });
}
