/** From values to shares of an axis, and the values that are worth a mark on it. */

export interface Scale {
  /** 0 at the beginning of the axis, 1 at its end; clamped. */
  readonly share: (value: number) => number;
  readonly ticks: readonly number[];
}

/** About so many marks. */
const TICKS_WANTED = 5;
const STEPS = [1, 2, 5, 10] as const;
/** A logarithmic axis spans one order of magnitude at least. */
const DECADE = 10;

export function linearScale(from: number, to: number): Scale {
  const span = to - from;
  const step = roundStep(span / TICKS_WANTED);
  const first = Math.ceil(from / step);
  const ticks = Array.from({ length: Math.floor(to / step) - first + 1 }, (_, index) => (first + index) * step);
  return { share: (value) => clamp((value - from) / span), ticks };
}

/** From `least`, above 0, to `most`. */
export function logScale(least: number, most: number): Scale {
  const from = Math.floor(Math.log10(least));
  const to = Math.max(Math.log10(most), from + Math.log10(DECADE));
  const ticks = Array.from({ length: Math.floor(to) - from + 1 }, (_, index) => 10 ** (from + index));
  return { share: (value) => (value > 0 ? clamp((Math.log10(value) - from) / (to - from)) : 0), ticks };
}

/**
 * Percentiles by how rare what lies above them is: 0, 90, 99, 99.9 are equally far apart. `nines` is the last one
 * shown: 3 is 99.9.
 */
export function percentileScale(nines: number): Scale {
  const share = (percentile: number): number =>
    percentile >= 100 ? 1 : clamp(-Math.log10(1 - percentile / 100) / nines);
  const ticks = Array.from({ length: nines + 1 }, (_, index) => 100 - 10 ** (2 - index));
  return { share, ticks: ticks.map((tick) => Number(tick.toFixed(nines))) };
}

function roundStep(least: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(least));
  const step = STEPS.find((candidate) => candidate * magnitude >= least * (1 - Number.EPSILON));
  return magnitude * (step ?? DECADE);
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share));
}
