/** How one metric comes out of a store's stats. */
import type { MetricType, Sample } from '../metrics/exposition.ts';
import type { StoreStats } from './stats.ts';

export interface MetricRow {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  /** `undefined`: the store has no such part. */
  readonly value: (stats: StoreStats) => number | readonly Sample[] | undefined;
}
