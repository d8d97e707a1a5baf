/** What a workload does to a store, as plain data: drawn from a seed, and taken apart when a failure is shrunk. */
import type { Random } from '../../src/base/random.ts';
import type { StreamOptions } from '../../src/index.ts';

export type Step =
  /** Several appends at once; `wait`: until they are acknowledged. */
  | { readonly do: 'append'; readonly stream: string; readonly sizes: readonly number[]; readonly wait: boolean }
  | { readonly do: 'appendMany'; readonly stream: string; readonly sizes: readonly number[]; readonly wait: boolean }
  /** Ids that follow the last one; `again`: with the last two before them once more. */
  | {
      readonly do: 'publish';
      readonly stream: string;
      readonly count: number;
      readonly again: boolean;
      readonly wait: boolean;
    }
  /** A share of what the stream holds, in hundredths. */
  | {
      readonly do: 'storeOffset';
      readonly stream: string;
      readonly share: number;
      readonly durable: boolean;
      readonly wait: boolean;
    }
  | { readonly do: 'trim'; readonly stream: string; readonly share: number; readonly wait: boolean }
  | { readonly do: 'truncate'; readonly stream: string; readonly share: number; readonly wait: boolean }
  | { readonly do: 'configure'; readonly stream: string; readonly options: StreamOptions; readonly wait: boolean }
  | { readonly do: 'delete'; readonly stream: string; readonly wait: boolean }
  | { readonly do: 'flush'; readonly wait: boolean }
  | { readonly do: 'compact'; readonly wait: boolean }
  /** Lets time pass: timers, retention and grace periods. */
  | { readonly do: 'pass'; readonly milliseconds: number }
  /** Closes the store, and opens it with slots of another number. */
  | { readonly do: 'reopen'; readonly slots: number }
  | { readonly do: 'openSecond' }
  | { readonly do: 'readBeside' }
  /** Loses power, or the process alone; the store is opened again. */
  | { readonly do: 'crash'; readonly power: boolean; readonly seed: number };

export type Mode = 'local' | 'diskless';

export interface Workload {
  readonly mode: Mode;
  /** Whether the disk offers direct I/O. */
  readonly direct: boolean;
  readonly steps: readonly Step[];
}

/** The first is for publishers alone, the last is compacted by key. */
export const PUBLISHED = 'published';
export const KEYED = 'keyed';
const PLAIN: readonly string[] = ['plain', 'other'];
const ALL: readonly string[] = [PUBLISHED, KEYED, ...PLAIN];

const SIZES: readonly number[] = [0, 1, 20, 100, 700, 3_000, 9_000];

export function drawWorkload(random: Random, length: number): Workload {
  const mode = random.below(4) === 0 ? 'diskless' : 'local';
  const direct = random.below(4) > 0;
  return { mode, direct, steps: Array.from({ length }, () => drawStep(random, mode)) };
}

function drawStep(random: Random, mode: Mode): Step {
  const pick = <T>(from: readonly T[]): T => from[random.below(from.length)] as T;
  const wait = random.below(3) > 0;
  const sizes = (most: number): number[] => Array.from({ length: 1 + random.below(most) }, () => pick(SIZES));
  const stream = pick([...PLAIN, ...PLAIN, KEYED]);
  const share = random.below(101);
  const draw = random.below(100);
  if (draw < 26) return { do: 'append', stream, sizes: sizes(5), wait };
  if (draw < 36) return { do: 'appendMany', stream, sizes: sizes(4), wait };
  if (draw < 46)
    return { do: 'publish', stream: PUBLISHED, count: 1 + random.below(4), again: random.below(3) === 0, wait };
  if (draw < 54) return { do: 'storeOffset', stream: pick(ALL), share, durable: random.below(2) === 0, wait };
  if (draw < 61) return { do: 'trim', stream: pick(ALL), share, wait };
  if (draw < 66) {
    return mode === 'local' ? { do: 'truncate', stream: pick(PLAIN), share, wait } : { do: 'flush', wait };
  }
  if (draw < 70) return { do: 'configure', stream: pick(PLAIN), options: drawOptions(random), wait };
  if (draw < 73) return { do: 'delete', stream: pick(PLAIN), wait };
  if (draw < 82) return { do: 'flush', wait };
  if (draw < 87) return { do: 'compact', wait };
  if (draw < 91) return { do: 'pass', milliseconds: pick([1, 150, 400, 6_000, 70_000]) };
  if (draw < 94) return { do: 'reopen', slots: pick([2, 2, 3]) };
  if (draw < 96) return { do: pick(['openSecond', 'readBeside'] as const) };
  return { do: 'crash', power: random.below(3) > 0, seed: random.uint32() };
}

function drawOptions(random: Random): StreamOptions {
  const compression = random.below(2) === 0 ? 'lz4' : 'none';
  const maxBytes = random.below(2) === 0 ? undefined : 5_000 + random.below(40_000);
  return maxBytes === undefined ? { compression } : { compression, retention: { maxBytes } };
}
