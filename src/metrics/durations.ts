/** How long something took, counted by bounds: cheap to keep, and what Prometheus makes quantiles of. */

/** Milliseconds. */
export const DURATION_BOUNDS: readonly number[] = [0.1, 0.5, 1, 5, 10, 50, 100, 500, 1_000, 5_000];

export class Durations {
  count = 0;
  /** Milliseconds of all together. */
  total = 0;
  /** How many were not longer than each of the bounds, and longer than the one before; the last are longer than all. */
  readonly counts: number[] = Array.from({ length: DURATION_BOUNDS.length + 1 }, () => 0);

  add(milliseconds: number): void {
    this.count += 1;
    this.total += milliseconds;
    const index = DURATION_BOUNDS.findIndex((bound) => milliseconds <= bound);
    const place = index === -1 ? DURATION_BOUNDS.length : index;
    this.counts[place] = (this.counts[place] ?? 0) + 1;
  }
}
