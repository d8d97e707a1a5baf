/**
 * A layout as it crosses threads, and as it waits for the job's end: as arrays of numbers. As objects, a job of 32,768
 * small input runs takes 8 MiB of each thread, and 6 more of the message.
 */
import { assert, required } from '../base/assert.ts';
import type { JobOutput, JobRun } from '../coordinator/job.ts';
import type { RunReference } from '../coordinator/coordinator.ts';
import { type Mutable, numberAt, RUN_COLUMNS, unpackRun } from '../record/run-columns.ts';
import type { Compression } from '../record/stream-config.ts';
import type { LayoutOutput, LayoutOutputs, LayoutParent, LayoutRun, PackedLayout, PackedOutput } from './layout.ts';
import type { WrittenOutput } from './rewrite-job.ts';

const COMPRESSIONS: readonly Compression[] = ['none', 'lz4'];
const KEYS: readonly LayoutRun['keys'][] = ['all', 'latest', 'complete'];

/** Numbers of a run, and of a parent. */
const COLUMNS = 9;
const PARENT_COLUMNS = 9;

export function packLayout({ outputs }: LayoutOutputs): PackedLayout {
  const counts = outputs.map(({ runs }) => runs.length);
  const runCount = counts.reduce((sum, count) => sum + count, 0);
  const parentCount = outputs.reduce(
    (sum, output) => output.runs.reduce((of, { parents }) => of + parents.length, sum),
    0,
  );
  const objects = new Map<string, number>();
  const runs = new Float64Array(runCount * COLUMNS);
  const parents = new Float64Array(parentCount * PARENT_COLUMNS);
  let run = 0;
  let parent = 0;
  const packed = outputs.map((output): PackedOutput => {
    const firstRun = run;
    for (const item of output.runs) {
      packLayoutRun(runs, run * COLUMNS, item, parent);
      run += 1;
      for (const from of item.parents) {
        const object = objects.get(from.objectKey) ?? objects.size;
        objects.set(from.objectKey, object);
        packParent(parents, parent * PARENT_COLUMNS, from, object);
        parent += 1;
      }
    }
    return { generation: output.generation, runs: output.runs.length, firstRun };
  });
  return { outputs: packed, objectKeys: [...objects.keys()], runs, parents };
}

function packLayoutRun(numbers: Float64Array, at: number, run: LayoutRun, firstParent: number): void {
  numbers[at] = run.streamId;
  numbers[at + 1] = run.firstOffset;
  numbers[at + 2] = run.nextOffset;
  numbers[at + 3] = run.visibleFrom;
  numbers[at + 4] = COMPRESSIONS.indexOf(run.compression);
  numbers[at + 5] = run.snapshot ? 1 : 0;
  numbers[at + 6] = KEYS.indexOf(run.keys);
  numbers[at + 7] = firstParent;
  numbers[at + 8] = run.parents.length;
}

function packParent(numbers: Float64Array, at: number, parent: LayoutParent, object: number): void {
  numbers[at] = object;
  numbers[at + 1] = parent.byteOffset;
  numbers[at + 2] = parent.byteLength;
  numbers[at + 3] = parent.chunks;
  numbers[at + 4] = parent.records;
  numbers[at + 5] = parent.firstOffset;
  numbers[at + 6] = parent.nextOffset;
  numbers[at + 7] = parent.endOffset;
  numbers[at + 8] = parent.tracking === true ? 1 : 0;
}

/** Runs make their parents when they are asked for them: whoever goes through a job has those of one at a time. */
export function unpackLayout(packed: PackedLayout): LayoutOutputs {
  return {
    outputs: packed.outputs.map(({ generation, runs, firstRun }): LayoutOutput => {
      return { generation, runs: Array.from({ length: runs }, (_, index) => new PackedRun(packed, firstRun + index)) };
    }),
  };
}

class PackedRun implements LayoutRun {
  readonly streamId: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly visibleFrom: number;
  readonly compression: Compression;
  readonly snapshot: boolean;
  readonly keys: LayoutRun['keys'];
  readonly #packed: PackedLayout;
  readonly #run: number;

  constructor(packed: PackedLayout, run: number) {
    const { runs } = packed;
    const at = run * COLUMNS;
    this.streamId = numberAt(runs, at);
    this.firstOffset = numberAt(runs, at + 1);
    this.nextOffset = numberAt(runs, at + 2);
    this.visibleFrom = numberAt(runs, at + 3);
    this.compression = required(COMPRESSIONS[numberAt(runs, at + 4)], 'a compression that was packed');
    this.snapshot = numberAt(runs, at + 5) === 1;
    this.keys = required(KEYS[numberAt(runs, at + 6)], 'a treatment of keys that was packed');
    this.#packed = packed;
    this.#run = run;
  }

  get parents(): readonly LayoutParent[] {
    const { objectKeys, parents } = this.#packed;
    return mapParents(this.#packed, this.#run, (at): LayoutParent => {
      return {
        objectKey: objectKeys[numberAt(parents, at)] as string,
        byteOffset: numberAt(parents, at + 1),
        byteLength: numberAt(parents, at + 2),
        chunks: numberAt(parents, at + 3),
        records: numberAt(parents, at + 4),
        firstOffset: numberAt(parents, at + 5),
        nextOffset: numberAt(parents, at + 6),
        endOffset: numberAt(parents, at + 7),
        tracking: numberAt(parents, at + 8) === 1,
      };
    });
  }
}

function mapParents<T>({ runs }: PackedLayout, run: number, make: (at: number) => T): T[] {
  const first = numberAt(runs, run * COLUMNS + 7);
  const count = numberAt(runs, run * COLUMNS + 8);
  return Array.from({ length: count }, (_, index) => make((first + index) * PARENT_COLUMNS));
}

/** What the job wrote as output `number` of the layout, with the parents of its runs: as it is committed. */
export function jobOutput(packed: PackedLayout, number: number, written: WrittenOutput): JobOutput {
  const { generation, runs: count, firstRun } = required(packed.outputs[number], 'an output of the layout');
  const { key, bytes, checksum, runs: numbers } = written;
  assert(numbers.length === count * RUN_COLUMNS, 'an output has the runs of its layout');
  const runs = Array.from({ length: count }, (_, index): JobRun => {
    const run = unpackRun(numbers, index * RUN_COLUMNS) as Mutable<JobRun>;
    run.parents = mapParents(packed, firstRun + index, (at): RunReference => {
      const objectKey = packed.objectKeys[numberAt(packed.parents, at)] as string;
      return { objectKey, byteOffset: numberAt(packed.parents, at + 1) };
    });
    return run;
  });
  return { key, bytes, checksum, generation, runs };
}
