/** How long things took, in buckets whose bounds grow by a quarter of an octave: quantiles are 19 % off at most. */

import type { Sample } from './exposition.ts';

/** Milliseconds. */
const FIRST_BOUND = 1 / 32;
const BUCKETS_PER_OCTAVE = 4;
const OCTAVES = 22;
const BUCKETS: number = OCTAVES * BUCKETS_PER_OCTAVE + 1;

/** Upper bounds in milliseconds, inclusive; the last one is infinite. */
export const LATENCY_BOUNDS: readonly number[] = Array.from({ length: BUCKETS }, (_, index) =>
  index === BUCKETS - 1 ? Infinity : FIRST_BOUND * 2 ** (index / BUCKETS_PER_OCTAVE),
);

/** Counts as plain data. Subtract one taken earlier for those in between. */
export interface LatencyCounts {
  readonly count: number;
  /** Milliseconds in all. */
  readonly sum: number;
  readonly max: number;
  /** One for each of `LATENCY_BOUNDS`. */
  readonly counts: readonly number[];
}

export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #sum = 0;
  #max = 0;

  /** `times` things took `milliseconds` each. */
  record(milliseconds: number, times = 1): void {
    const bucket = bucketOf(milliseconds);
    this.#counts[bucket] = (this.#counts[bucket] as number) + times;
    this.#count += times;
    this.#sum += milliseconds * times;
    if (milliseconds > this.#max) this.#max = milliseconds;
  }

  snapshot(): LatencyCounts {
    return { count: this.#count, sum: this.#sum, max: this.#max, counts: [...this.#counts] };
  }
}

function bucketOf(milliseconds: number): number {
  if (!(milliseconds > FIRST_BOUND)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(milliseconds / FIRST_BOUND) * BUCKETS_PER_OCTAVE));
}

/** The bound that `share` (0 to 1) of the counts stay below, in milliseconds; `undefined` without any. */
export function quantileOf(counts: readonly number[], share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let below = 0;
  const index = counts.findIndex((count) => {
    below += count;
    return below >= total * share;
  });
  // Nothing is known of how far beyond the last finite bound it is.
  return LATENCY_BOUNDS[Math.min(index, BUCKETS - 2)];
}

const SECOND = 1_000;

/** Samples of a histogram with these counts; bounds are whole octaves, in seconds as Prometheus has them. */
export function histogramSamples(
  { count, sum, counts }: LatencyCounts,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  let below = 0;
  const buckets = LATENCY_BOUNDS.flatMap((bound, index) => {
    below += counts[index] ?? 0;
    const isWritten = index % BUCKETS_PER_OCTAVE === 0 && bound !== Infinity;
    return isWritten ? [{ suffix: '_bucket', labels: { ...labels, le: String(bound / SECOND) }, value: below }] : [];
  });
  return [
    ...buckets,
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: sum / SECOND },
    { suffix: '_count', labels, value: count },
  ];
}
