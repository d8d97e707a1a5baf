/** Whether a soak was flat: medians of one part of it against those of a later one: no single moment decides. */
import { spreadOf } from '../../bench/statistics.ts';
import type { Life, SoakResult, SoakSample } from './result.ts';

export interface Finding {
  readonly name: string;
  /** `undefined`: there was too little to judge it by. */
  readonly met: boolean | undefined;
  readonly before: number;
  readonly after: number;
  /** What `after` may be at most. */
  readonly limit: number;
}

const MIB = 1024 * 1024;
/** Fewer values than this say nothing in a part. */
const VALUES_MIN = 3;
/** Where the machine has a say, too, for it may have more to do later on: of a minute or more, some are quiet. */
const MACHINE_VALUES_MIN = 60;
/** Seconds until a process has done all that it does at first: opened, compiled, and touched its memory. */
const WARM_UP = 2;
/** Processes are compared at the same age, in seconds: one that lives longer has met more. */
const AGE_MAX = 6;

/** How much more there may be later on: a share of what was there before, and an amount on top. */
interface Tolerance {
  readonly share: number;
  readonly amount: number;
  /** Each part needs so many values. Default 3. */
  readonly values?: number;
}

/** Pure. */
export function judge({ samples, lives }: SoakResult): Finding[] {
  const warm = samples.filter(({ age }) => age >= WARM_UP);
  // Until then the store fills up to what retention leaves.
  const settled = warm.slice(Math.ceil(warm.length / 3));
  return [...ofProcesses(samples, lives), ...ofOneProcess(samples), ...ofTheStore(settled)];
}

/** What one process leaves behind for the next, and what the process keeps that opens the store again and again. */
function ofProcesses(samples: readonly SoakSample[], lives: readonly Life[]): Finding[] {
  const young = samples.filter(({ age }) => age >= WARM_UP && age <= AGE_MAX);
  const byLife = (of: (sample: SoakSample) => number): number[] => {
    const values = lives.map((_life, life) => young.filter((sample) => sample.life === life).map(of));
    return values.filter((each) => each.length > 0).map(median);
  };
  const checkers = lives.map(({ checker }) => checker);
  return [
    growth(
      'memory, process by process',
      byLife(({ residentBytes }) => residentBytes / MIB),
      SLACK.memory,
    ),
    growth(
      'descriptors, process by process',
      byLife(({ descriptors }) => descriptors),
      SLACK.descriptors,
    ),
    growth(
      'memory of the checking process',
      checkers.map(({ residentBytes }) => residentBytes / MIB),
      SLACK.checker,
    ),
    growth(
      'descriptors of the checking process',
      checkers.map(({ descriptors }) => descriptors),
      SLACK.checkerDescriptors,
    ),
  ];
}

/** What grows in the process that lived longest, once it is warm: in its second third against its last. */
function ofOneProcess(samples: readonly SoakSample[]): Finding[] {
  const lengths = new Map<number, number>();
  for (const { life } of samples) lengths.set(life, (lengths.get(life) ?? 0) + 1);
  const [longest] = [...lengths].sort(([, left], [, right]) => right - left)[0] ?? [];
  const own = samples.filter(({ life }) => life === longest);
  const late = own.slice(Math.ceil(own.length / 3));
  const compare = (name: string, of: (sample: SoakSample) => number, typical: Typical, slack: Tolerance): Finding =>
    halves(name, late.map(of), typical, slack);
  return [
    compare('memory of the longest process', ({ residentBytes }) => residentBytes / MIB, median, SLACK.grown),
    // What is live: each sample is taken behind a collection.
    compare('heap of the longest process', ({ heapBytes }) => heapBytes / MIB, least, SLACK.heap),
    compare('descriptors of the longest process', ({ descriptors }) => descriptors, median, SLACK.descriptors),
  ];
}

/** The first half of what is left against the second. */
function ofTheStore(settled: readonly SoakSample[]): Finding[] {
  const over = (
    name: string,
    of: (sample: SoakSample) => number | undefined,
    slack: Tolerance,
    typical: Typical = median,
  ): Finding =>
    halves(
      name,
      settled.map(of).filter((value) => value !== undefined),
      typical,
      slack,
    );
  return [
    over('files of the store', ({ files }) => files, SLACK.files),
    over('bytes of objects', ({ objectBytes }) => objectBytes / MIB, SLACK.objects),
    over('bytes of the manifest', ({ manifestBytes }) => manifestBytes / MIB, SLACK.manifest),
    over('objects, also those to delete', ({ objects, deletingObjects }) => objects + deletingObjects, SLACK.files),
    over('bytes that nobody needs', ({ deadBytes }) => deadBytes / MIB, SLACK.objects),
    // A busy machine fills slots and takes its time; what has grown is there at the best of moments, too.
    over('slots in use', ({ slotsInUse }) => slotsInUse, SLACK.slots, least),
    over('acknowledgement p50', ({ p50 }) => p50, SLACK.p50, least),
    over('acknowledgement p99', ({ p99 }) => p99, SLACK.p99, least),
  ];
}

/** In the unit of each finding. */
const SLACK = {
  memory: { share: 0.25, amount: 32 },
  checker: { share: 0.25, amount: 64 },
  // Of a worker that has just ended, some may still be open.
  checkerDescriptors: { share: 0, amount: 3 },
  // Several isolates, each of which grows to its size by and by.
  grown: { share: 0.25, amount: 32, values: MACHINE_VALUES_MIN },
  heap: { share: 0.1, amount: 8 },
  // Up to 64 objects are kept open for readers, however many there are at the moment.
  descriptors: { share: 0, amount: 80 },
  // What grows steadily from nothing has grown by two thirds between the halves that are compared.
  files: { share: 0.4, amount: 200 },
  objects: { share: 0.4, amount: 16 },
  manifest: { share: 0.4, amount: 2 },
  slots: { share: 0.5, amount: 2, values: MACHINE_VALUES_MIN },
  p50: { share: 0.5, amount: 20, values: MACHINE_VALUES_MIN },
  p99: { share: 0.5, amount: 100, values: MACHINE_VALUES_MIN },
} as const satisfies Record<string, Tolerance>;

type Typical = (values: readonly number[]) => number;

const median: Typical = (values) => spreadOf(values).median;
const least: Typical = (values) => spreadOf(values).min;

/** The first third of the values against the last one. */
function growth(name: string, values: readonly number[], slack: Tolerance): Finding {
  const third = Math.floor(values.length / 3);
  return finding(name, values.slice(0, third), values.slice(values.length - third), median, slack);
}

function halves(name: string, values: readonly number[], typical: Typical, slack: Tolerance): Finding {
  const half = Math.floor(values.length / 2);
  return finding(name, values.slice(0, half), values.slice(values.length - half), typical, slack);
}

function finding(
  name: string,
  early: readonly number[],
  late: readonly number[],
  typical: Typical,
  { share, amount, values = VALUES_MIN }: Tolerance,
): Finding {
  if (Math.min(early.length, late.length) === 0) return { name, met: undefined, before: 0, after: 0, limit: 0 };
  const [before, after] = [typical(early), typical(late)];
  const limit = before * (1 + share) + amount;
  return { name, before, after, limit, met: early.length < values ? undefined : after <= limit };
}
