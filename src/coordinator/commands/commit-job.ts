/** The commit of a job: ownership, coverage, and the swap as one event. */
import { MillraceError } from '../../errors/millrace-error.ts';
import type { RunReference } from '../coordinator.ts';
import type { CommitJob, JobAnswer, JobOutput } from '../job.ts';
import { parseObjectKey } from '../object-key.ts';
import { planJob } from '../state/apply-job.ts';
import type { ReplacingObject, RunKey } from '../state/event.ts';
import { endOfReplacement, layOutStretch, RowFinder, rowsOf, type StreamReplacement } from '../state/replace-runs.ts';
import type { JobRow } from '../state/rows.ts';
import { RUN } from '../state/run-table.ts';
import { keyOf, type State } from '../state/state.ts';
import { checkContent, checkInteger } from './checks.ts';
import { conflict, decide, type Decision } from './decision.ts';
import { findJob } from './job-commands.ts';
import { checkReserved } from './object-commands.ts';

export function commitJob(state: State, commit: CommitJob): Decision<JobAnswer> {
  const { jobId, token } = commit;
  if (state.finishedJobs.get(jobId)?.token === token) return decide({ replayed: true });
  const job = findJob(state, jobId, token);
  if (job === undefined) {
    throw new MillraceError(
      'ERR_MILLRACE_LEASE_LOST',
      `job ${jobId} is no longer held: its outputs are to be aborted`,
      {
        details: { jobId },
      },
    );
  }
  const parents = new Parents(state, job);
  const outputs = commit.outputs.map((output) => placeOutput(state, output, parents));
  if (new Set(outputs.map(({ objectNumber }) => objectNumber)).size !== outputs.length) {
    throw conflict(`job ${jobId} names an output twice`, { jobId });
  }
  const dropped = parents.takeAll(commit.dropped);
  parents.checkCoverage();
  for (const key of dropped) checkDroppable(state, parents, key);
  for (const plan of planJob(state, { outputs, dropped }, parents.finder).values()) checkContinuity(state, plan);
  return decide({ replayed: false }, { type: 'jobCommitted', jobId, outputs, dropped });
}

function placeOutput(state: State, output: JobOutput, parents: Parents): ReplacingObject {
  checkContent(output);
  checkInteger(output.generation, 'a generation', 0, 2 ** 16 - 1);
  const object = checkReserved(state, state.findObject(output.key), output.key);
  const { bytes, checksum, generation } = output;
  const runs = output.runs.map((run) => {
    if (run.streamId >= state.nextStreamId) throw conflict(`stream ${run.streamId} was never created`);
    if (run.parents.length === 0) throw conflict(`a run of ${output.key} at ${run.byteOffset} has no parent`);
    return { ...run, parents: parents.takeAll(run.parents, run.streamId) };
  });
  return { objectNumber: object.number, bytes, checksum, generation, runs };
}

/** The live runs of a job's inputs, each of which has to be taken exactly once. */
class Parents {
  readonly #state: State;
  readonly #job: JobRow;
  readonly #inputs: ReadonlySet<number>;
  readonly finder: RowFinder;
  /** Places of runs by the number of their object. A job has tens of thousands: as names they take 3 MiB. */
  readonly #taken: Map<number, Set<number>> = new Map();
  /** Numbers by key: there are few objects, and many runs of each. */
  readonly #numbers: Map<string, number> = new Map();

  constructor(state: State, job: JobRow) {
    this.#state = state;
    this.#job = job;
    this.#inputs = new Set(job.inputs);
    this.finder = new RowFinder(state);
  }

  row(key: RunKey): number | undefined {
    return this.finder.find(key);
  }

  /** The keys of those of `references` that are still alive. */
  takeAll(references: readonly RunReference[], streamId?: number): RunKey[] {
    const keys: RunKey[] = [];
    for (const reference of references) {
      const key = this.#take(reference);
      const row = this.row(key);
      if (row === undefined) continue;
      if (streamId !== undefined && this.#state.runs.get(row, RUN.streamId) !== streamId) {
        throw conflict(`the run at ${reference.byteOffset} of ${reference.objectKey} is of another stream`, {
          expected: streamId,
          actual: this.#state.runs.get(row, RUN.streamId),
        });
      }
      keys.push(key);
    }
    return keys;
  }

  #take({ objectKey, byteOffset }: RunReference): RunKey {
    const objectNumber = this.#numberOf(objectKey);
    const taken = this.#taken.get(objectNumber) ?? new Set<number>();
    if (taken.has(byteOffset)) {
      throw conflict(`the run at ${byteOffset} of ${objectKey} is accounted for twice`, { key: objectKey, byteOffset });
    }
    this.#taken.set(objectNumber, taken.add(byteOffset));
    return { objectNumber, byteOffset };
  }

  #numberOf(objectKey: string): number {
    const known = this.#numbers.get(objectKey);
    if (known !== undefined) return known;
    const objectNumber = parseObjectKey(objectKey)?.number ?? 0;
    if (!this.#inputs.has(objectNumber)) {
      throw conflict(`${objectKey} is not an input of job ${this.#job.jobId}`, { key: objectKey });
    }
    this.#numbers.set(objectKey, objectNumber);
    return objectNumber;
  }

  checkCoverage(): void {
    for (const objectNumber of this.#job.inputs) {
      const object = this.#state.objects.get(objectNumber);
      if (object === undefined) continue;
      const taken = this.#taken.get(objectNumber);
      for (const row of rowsOf(this.#state, object)) {
        const byteOffset = this.#state.runs.get(row, RUN.byteOffset);
        if (taken?.has(byteOffset) === true) continue;
        const key = keyOf(object);
        throw conflict(`the live run at ${byteOffset} of ${key} is not accounted for`, { key, byteOffset });
      }
    }
  }
}

/** Without an output, only what nobody can read may go. */
function checkDroppable(state: State, parents: Parents, key: RunKey): void {
  const row = parents.row(key);
  if (row === undefined) return;
  const { firstOffset } = state.stream(state.runs.get(row, RUN.streamId));
  const covers = state.runs.get(row, RUN.endOffset) > state.runs.get(row, RUN.firstOffset);
  if (covers && state.runs.get(row, RUN.endOffset) > firstOffset) {
    throw conflict(`the run at ${key.byteOffset} of object ${key.objectNumber} is readable and cannot be dropped`, {
      byteOffset: key.byteOffset,
    });
  }
}

/** The stream's runs still follow each other without a gap once the outputs are in place. */
function checkContinuity(state: State, plan: StreamReplacement): void {
  const { stream } = plan;
  const stretch = layOutStretch(state, plan);
  if (typeof stretch === 'string') throw conflict(`stream ${stream.streamId}: ${stretch}`);
  const endOf = (row: number): number => state.runs.get(row, RUN.endOffset);
  let expected = stretch.from === 0 ? undefined : endOf(stream.runs.at(stretch.from - 1));
  for (const item of stretch.items) {
    const isRow = typeof item === 'number';
    const first = isRow ? state.runs.get(item, RUN.firstOffset) : item.run.firstOffset;
    const end = isRow ? endOf(item) : endOfReplacement(state, item);
    if (!isRow && item.run.nextOffset < end) {
      throw gap(
        `a run ends at ${item.run.nextOffset}, its parents at ${end}`,
        stream.streamId,
        end,
        item.run.nextOffset,
      );
    }
    if (expected === undefined) {
      // At the front, parents may have been trimmed since the claim, and records below the log start be left out.
      const most = isRow
        ? first
        : Math.max(state.runs.get(item.parents[0] as number, RUN.firstOffset), stream.firstOffset);
      if (first > most || first > end)
        throw gap(`the first run starts at ${first}, after ${most}`, stream.streamId, most, first);
    } else if (first !== expected) {
      throw gap(`a run starts at ${first}, not at ${expected}`, stream.streamId, expected, first);
    }
    expected = end;
  }
  const behind = stretch.from + stretch.count;
  if (expected === undefined || behind === stream.runs.length) return;
  const next = state.runs.get(stream.runs.at(behind), RUN.firstOffset);
  if (next !== expected) throw gap(`a run starts at ${next}, not at ${expected}`, stream.streamId, expected, next);
}

function gap(what: string, streamId: number, expected: number, actual: number): MillraceError {
  return conflict(`stream ${streamId}: ${what}`, { streamId, expected, actual });
}
