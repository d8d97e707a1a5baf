/** Order statistics of samples: few, so that nothing is assumed about their distribution. */

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** Of at least one sample. An even number of samples has the mean of the middle two as its median. */
export function spreadOf(samples: readonly number[]): Spread {
  if (samples.length === 0) throw new RangeError('a spread needs a sample');
  const sorted = [...samples].sort((left, right) => left - right);
  const middle = (sorted.length - 1) / 2;
  const low = sorted[Math.floor(middle)]!;
  const high = sorted[Math.ceil(middle)]!;
  return { min: sorted[0]!, median: (low + high) / 2, max: sorted[sorted.length - 1]! };
}

/** The smallest sample that at least `share` (0 to 1) of all samples do not exceed. Sorts `samples` in place. */
export function percentile(samples: Float64Array, share: number): number {
  if (samples.length === 0) throw new RangeError('a percentile needs a sample');
  samples.sort();
  return samples[Math.max(0, Math.ceil(samples.length * share) - 1)]!;
}
