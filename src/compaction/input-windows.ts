/**
 * Which bytes of its inputs a job reads at once. Pure: the executor follows it, and the simulation counts requests by
 * it. A request costs the same whatever it fetches, so windows are as large as the memory of a job allows; small inputs
 * are read whole. A window ends where a run ends: nothing is carried from one to the next.
 */
import { KIB, MIB } from '../limits/limits.ts';
import type { WriterMemory } from '../object/object-store.ts';
import type { Layout } from './layout.ts';

/** One request of a run that is larger than its input's window; twice as much is in memory. */
export const RUN_READ_BYTES: number = 4 * MIB;
/** Two buffers of segment output for each output that is open. */
const OUTPUT_BYTES: number = 2 * MIB;
/** The index of keys, and a bit for each record. */
const KEYS_BYTES: number = 33 * MIB;
/** Chunks in the making, the heap, and memory given back and not collected yet: measured as growth of the process. */
const REST_BYTES: number = 24 * MIB;
/**
 * Of what is left for windows and uploads, this goes to uploads. A part costs what twelve reads cost, and smaller
 * windows cost a read of each input: for a dozen inputs and more the sum is least at about half.
 */
const UPLOADS_SHARE = 1 / 2;
const WINDOWS_BYTES_MIN: number = 4 * MIB;
/** A smaller gap of dead bytes is cheaper to read than to skip. */
const GAP_BYTES: number = 64 * KIB;
/** Windows on their way beside those in use, for each that is in use. */
const AHEAD_SHARE = 1 / 4;

export interface ByteRange {
  readonly position: number;
  readonly length: number;
}

/** An input and its runs that will be read, by position. */
export interface WindowedInput {
  readonly bytes: number;
  readonly live: readonly ByteRange[];
}

/** How one input is read. */
export interface InputPlan {
  /** Ascending and disjoint; each run of at most `windowBytes` lies in one of them. */
  readonly windows: readonly ByteRange[];
  /** Larger runs are read past the windows. */
  readonly windowBytes: number;
  /** The first window is the whole object, with its tail. */
  readonly whole: boolean;
}

export interface WindowsPlan {
  /** In the order of the inputs. */
  readonly inputs: readonly InputPlan[];
  /** Bytes of windows that may be on their way beside those in use. */
  readonly aheadBytes: number;
}

/** An input that is read, and how. */
export interface PlannedInput<Input> {
  readonly input: Input;
  readonly live: readonly ByteRange[];
  readonly plan: InputPlan;
}

/** How a job uses its memory. */
export interface JobMemory<Input> {
  readonly windows: WindowsPlan;
  readonly inputs: readonly PlannedInput<Input>[];
  /** What the writer of each output may hold; `undefined` where writers hold nothing. */
  readonly writerBytes: number | undefined;
}

/** Inputs of which the layout takes nothing are not read, and are left out. */
export function planInputs<Input extends { readonly key: string; readonly bytes: number }>(
  layout: Layout,
  inputs: readonly Input[],
  memoryBytes: number,
  writer?: WriterMemory,
): JobMemory<Input> {
  const live = liveRanges(layout);
  const read = inputs.flatMap((input) => {
    const ranges = live.get(input.key);
    return ranges === undefined ? [] : [{ input, bytes: input.bytes, live: ranges }];
  });
  const keyed = layout.outputs.some(({ runs }) => runs.some(({ keys }) => keys !== 'all'));
  const { windowsBytes, writerBytes } = shareOut(memoryBytes, openAtOnce(layout), keyed, writer);
  const windows = planWindows(read, windowsBytes);
  const plans = windows.inputs;
  return {
    windows,
    writerBytes,
    inputs: read.map(({ input, live: ranges }, index) => ({ input, live: ranges, plan: plans[index] as InputPlan })),
  };
}

/** By input, the ranges of all runs that are read, by position. */
function liveRanges({ outputs }: Layout): Map<string, ByteRange[]> {
  const live = new Map<string, ByteRange[]>();
  for (const { runs } of outputs) {
    for (const { parents } of runs) {
      for (const { objectKey, byteOffset: position, byteLength: length } of parents) {
        const ranges = live.get(objectKey);
        if (ranges === undefined) live.set(objectKey, [{ position, length }]);
        else ranges.push({ position, length });
      }
    }
  }
  for (const ranges of live.values()) ranges.sort((left, right) => left.position - right.position);
  return live;
}

/** Streams are written in order, so an output is open from its first stream to its last one. */
function openAtOnce({ outputs }: Layout): number {
  const spans = outputs.map(({ runs }) => ({ first: runs[0]?.streamId ?? 0, last: runs.at(-1)?.streamId ?? 0 }));
  const overlaps = spans.map(({ first }) => spans.filter((span) => span.first <= first && first <= span.last).length);
  return Math.max(0, ...overlaps);
}

/**
 * What is left of a job's memory for its windows, and for the writer of each of so many open outputs. The memory covers
 * keys and output buffers; the largest single chunk comes on top.
 */
export function shareOut(
  memoryBytes: number,
  outputs: number,
  keyed: boolean,
  writer?: WriterMemory,
): { readonly windowsBytes: number; readonly writerBytes: number | undefined } {
  const others = 2 * RUN_READ_BYTES + OUTPUT_BYTES * outputs + REST_BYTES + (keyed ? KEYS_BYTES : 0);
  const left = Math.max(WINDOWS_BYTES_MIN, memoryBytes - others);
  if (writer === undefined || outputs === 0) return { windowsBytes: left, writerBytes: undefined };
  const share = Math.floor((left * UPLOADS_SHARE) / outputs);
  const writerBytes = Math.min(writer.ample, Math.max(writer.least, share));
  return { windowsBytes: Math.max(WINDOWS_BYTES_MIN, left - writerBytes * outputs), writerBytes };
}

/** Shares `budget` out: what an input smaller than its share leaves goes to the others. */
export function planWindows(inputs: readonly WindowedInput[], budget: number): WindowsPlan {
  const ahead = Math.max(1, inputs.length * AHEAD_SHARE);
  const aheadBytes = Math.floor((budget * ahead) / (inputs.length + ahead));
  const windowBytes = sharesOf(
    inputs.map(({ bytes }) => bytes),
    budget - aheadBytes,
  ).map((share) => Math.min(share, aheadBytes));
  return {
    aheadBytes,
    inputs: inputs.map((input, index) => {
      const share = windowBytes[index] as number;
      return planInput(input, share, (share * (index + 1)) / inputs.length);
    }),
  };
}

function planInput({ bytes, live }: WindowedInput, windowBytes: number, firstBytes: number): InputPlan {
  const liveBytes = live.reduce((sum, { length }) => sum + length, 0);
  // Not for the little that lives in an object: what is dead takes time, and rates are of what is read.
  const dense = bytes - liveBytes <= GAP_BYTES || liveBytes * 2 >= bytes;
  if (bytes <= windowBytes && dense) {
    return { windows: [{ position: 0, length: bytes }], windowBytes, whole: true };
  }
  return { windows: cutWindows(live, windowBytes, firstBytes), windowBytes, whole: false };
}

function sharesOf(sizes: readonly number[], budget: number): number[] {
  const shares = sizes.map(() => 0);
  const ascending = [...sizes.keys()].sort((left, right) => (sizes[left] as number) - (sizes[right] as number));
  let rest = budget;
  for (const [place, index] of ascending.entries()) {
    const share = Math.min(sizes[index] as number, Math.floor(rest / (ascending.length - place)));
    shares[index] = share;
    rest -= share;
  }
  return shares;
}

/**
 * Inputs go through the streams side by side, and windows of one size would all end at the same moment: so the first
 * ones differ in size.
 */
function cutWindows(live: readonly ByteRange[], windowBytes: number, firstBytes: number): ByteRange[] {
  const windows: ByteRange[] = [];
  for (const { position, length } of live) {
    if (length > windowBytes) continue;
    const last = windows.at(-1);
    const most = windows.length === 1 ? firstBytes : windowBytes;
    const end = position + length;
    const fits =
      last !== undefined && position - (last.position + last.length) <= GAP_BYTES && end - last.position <= most;
    if (fits) windows[windows.length - 1] = { position: last.position, length: end - last.position };
    else windows.push({ position, length });
  }
  return windows;
}
