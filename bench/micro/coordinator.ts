/** The coordinator's state machine, without its manifest. */
import { COORDINATOR_TIMES_DEFAULT, type ObjectCommit } from '../../src/coordinator/coordinator.ts';
import { commitObject } from '../../src/coordinator/commands/commit-object.ts';
import { type Decision, findStreamRow } from '../../src/coordinator/commands/decision.ts';
import { reserveObjects } from '../../src/coordinator/commands/object-commands.ts';
import { createStream } from '../../src/coordinator/commands/stream-commands.ts';
import { findRuns } from '../../src/coordinator/queries/stream-queries.ts';
import { apply } from '../../src/coordinator/state/apply.ts';
import { State } from '../../src/coordinator/state/state.ts';
import { STREAM_CONFIG_DEFAULT } from '../../src/record/stream-config.ts';
import { SAMPLE_RECORDS, SAMPLE_RUN_BYTES, sampleRunOf } from '../sample-run.ts';
import type { Workload } from '../workload.ts';
import { micro, type MicroSides } from './micro.ts';

const STREAMS = 64;
/** Runs of one stream, and questions of an iteration. */
const RUNS = 16_384;
const QUESTIONS = 256;
const STRIDE = 7_919;
/** Objects after which the state is thrown away: it would grow with the speed of the machine otherwise. */
const OBJECTS_MAX = 4_096;

export const coordinatorCommit: Workload = micro({
  name: 'coordinator-commit',
  what: 'judges and applies the commit of an object with a run of each of 64 streams; time is per run',
  floor: 'turns the same commit into JSON',
  amount: { items: STREAMS },
  prepare: commits,
});

export const coordinatorFind: Workload = micro({
  name: 'coordinator-find',
  what: 'finds the run of an offset among 16,384 of a stream',
  floor: 'searches a sorted array of as many numbers by halves',
  amount: { items: QUESTIONS },
  prepare: finds,
});

/** The state and how to commit the next object to it. */
class Fleet {
  readonly state: State = new State();
  readonly #nextOffsets: number[];

  constructor(streams: number) {
    for (let stream = 0; stream < streams; stream += 1) {
      this.#run(createStream(this.state, `stream-${stream}`, STREAM_CONFIG_DEFAULT));
    }
    this.#nextOffsets = Array.from({ length: streams }, () => 0);
  }

  commitNext(): ObjectCommit {
    const { keys } = this.#run(reserveObjects(this.state, 1, 0, COORDINATOR_TIMES_DEFAULT));
    const runs = this.#nextOffsets.map((firstOffset, stream) => sampleRunOf(stream, firstOffset));
    const bytes = (runs.length + 2) * SAMPLE_RUN_BYTES;
    const commit = { key: keys[0]!, bytes, checksum: '0'.repeat(16), runs };
    this.#run(commitObject(this.state, commit));
    this.#nextOffsets.forEach((offset, stream) => {
      this.#nextOffsets[stream] = offset + SAMPLE_RECORDS;
    });
    return commit;
  }

  #run<Answer>({ events, answer }: Decision<Answer>): Answer {
    for (const event of events) apply(this.state, event);
    return answer;
  }
}

function commits(): MicroSides {
  let fleet = new Fleet(STREAMS);
  const sample = fleet.commitNext();
  let objects = 1;
  return {
    millrace: () => {
      if (objects === OBJECTS_MAX) {
        fleet = new Fleet(STREAMS);
        objects = 0;
      }
      objects += 1;
      fleet.commitNext();
    },
    floor: () => JSON.stringify(sample),
  };
}

function finds(): MicroSides {
  const fleet = new Fleet(1);
  for (let run = 0; run < RUNS; run += 1) fleet.commitNext();
  const stream = findStreamRow(fleet.state, 1);
  const starts = Float64Array.from({ length: RUNS }, (_, run) => run * SAMPLE_RECORDS);
  const ask = (find: (offset: number) => number | undefined) => () => {
    for (let question = 0; question < QUESTIONS; question += 1) {
      const run = (question * STRIDE) % RUNS;
      if (find(run * SAMPLE_RECORDS + 1) !== run * SAMPLE_RECORDS) throw new Error(`run ${run} was not found`);
    }
  };
  return {
    millrace: ask((offset) => findRuns(fleet.state, stream, offset, { maxRuns: 1, maxBytes: 1 }).runs[0]?.firstOffset),
    floor: ask((offset) => starts[lastAtOrBelow(starts, offset)]),
  };
}

function lastAtOrBelow(sorted: Float64Array, wanted: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
