/** Applies a committed job: outputs take the place of what is still live of the inputs. */
import { assert, required } from '../../base/assert.ts';
import type { JobCommitted } from './event.ts';
import { endJob, markCommitted, settleObject } from './object-changes.ts';
import {
  endOfReplacement,
  layOutStretch,
  replaceStretch,
  RowFinder,
  type Replacement,
  type StreamReplacement,
} from './replace-runs.ts';
import type { ObjectRow, StreamRow } from './rows.ts';
import { addRun } from './run-links.ts';
import { RUN } from './run-table.ts';
import type { State } from './state.ts';

interface MutablePlan extends StreamReplacement {
  readonly stream: StreamRow;
  readonly replacements: Replacement[];
  readonly dropped: number[];
}

/** Groups the parts of a job by stream. Keys whose runs have died are left out. */
export function planJob(
  state: State,
  event: Pick<JobCommitted, 'outputs' | 'dropped'>,
  finder: RowFinder = new RowFinder(state),
): Map<number, StreamReplacement> {
  const plans = new Map<number, MutablePlan>();
  const planOf = (streamId: number): MutablePlan => {
    let plan = plans.get(streamId);
    if (plan === undefined) {
      plan = { stream: state.stream(streamId), replacements: [], dropped: [] };
      plans.set(streamId, plan);
    }
    return plan;
  };
  for (const output of event.outputs) {
    for (const run of output.runs) {
      const parents: number[] = [];
      for (const key of run.parents) {
        const row = finder.find(key);
        if (row !== undefined) parents.push(row);
      }
      if (parents.length > 0) planOf(run.streamId).replacements.push({ run, parents });
    }
  }
  for (const key of event.dropped) {
    const row = finder.find(key);
    if (row !== undefined) planOf(state.runs.get(row, RUN.streamId)).dropped.push(row);
  }
  return plans;
}

export function applyJobCommitted(state: State, event: JobCommitted): void {
  const job = state.job(event.jobId);
  const inputs = job.inputs.map((number) => state.objects.get(number)).filter((object) => object !== undefined);
  const rewriteBy = inputs.reduce((least, object) => Math.min(least, object.rewriteBy ?? Infinity), Infinity);
  const plans = planJob(state, event);
  const stretches = [...plans.values()].map((plan) => ({ plan, stretch: layOutStretch(state, plan) }));
  const rows = makeRows(state, event, plans);
  for (const { plan, stretch } of stretches) {
    assert(typeof stretch !== 'string', 'a committed job leaves no gap');
    replaceStretch(state, plan, stretch, (replacement) => {
      return required(rows.get(replacement.run), 'every replacing run has a row');
    });
  }
  for (const output of event.outputs) {
    const object = state.object(output.objectNumber);
    if (rewriteBy !== Infinity && holdsDeadBytes(state, object, output.runs)) object.rewriteBy = rewriteBy;
    settleObject(state, object);
  }
  for (const object of inputs) assert(object.liveBytes === 0, 'a job covers every live run of its inputs');
  endJob(state, event.jobId);
  state.finishedJobs.set(job.jobId, { jobId: job.jobId, token: job.token, finishedAt: state.now });
}

/** Commits the outputs and makes the rows of those runs that replace a live one, in the order of their bytes. */
function makeRows(
  state: State,
  event: JobCommitted,
  plans: ReadonlyMap<number, StreamReplacement>,
): Map<object, number> {
  const ends = new Map<object, number>();
  for (const plan of plans.values()) {
    for (const replacement of plan.replacements) ends.set(replacement.run, endOfReplacement(state, replacement));
  }
  const rows = new Map<object, number>();
  for (const output of event.outputs) {
    const object = state.object(output.objectNumber);
    markCommitted(state, object, output);
    for (const run of output.runs) {
      const endOffset = ends.get(run);
      if (endOffset !== undefined) rows.set(run, addRun(state, object, run, endOffset));
    }
  }
  return rows;
}

/** Some of the output died between the claim and the commit, or is cut by a log start or a truncation. */
function holdsDeadBytes(state: State, object: ObjectRow, runs: JobCommitted['outputs'][number]['runs']): boolean {
  if (object.liveRuns < runs.length) return true;
  return runs.some((run) => {
    const stream = state.stream(run.streamId);
    return run.firstOffset < stream.firstOffset || run.nextOffset > stream.nextOffset;
  });
}
