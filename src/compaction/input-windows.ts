/**
 * Which bytes of its inputs a job in a directory reads at once; on S3 inputs are streams (`job-memory.ts`). Pure: the
 * executor follows it. Large reads are the faster ones, so windows are as large as the memory of a job allows; small
 * inputs are read whole. A window ends where a run ends: nothing is carried from one to the next.
 */
import { KIB } from '../limits/limits.ts';
import type { LayoutOutputs } from './layout.ts';

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

/** By input, the ranges of all runs that are read, by position. */
export function liveRanges({ outputs }: LayoutOutputs): Map<string, ByteRange[]> {
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
