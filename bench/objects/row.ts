/** A line of the report of `npm run bench:objects`. */
import type { Unit } from '../workload.ts';

export interface Row {
  readonly what: string;
  readonly value: number;
  /** `times`: how many times fewer. */
  readonly unit: Unit | 'times';
  readonly target?: { readonly bound: 'at least' | 'at most'; readonly limit: number };
}
