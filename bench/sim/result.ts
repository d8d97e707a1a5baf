/** What a run of the simulation found, as it is written to a file. */
import { compactionSettings } from '../../src/compaction/settings.ts';
import { type Figures, figuresOf } from './cost.ts';
import { Fleet, WORKER_BYTES_PER_SECOND } from './fleet.ts';
import { type JobCounts, type Sample } from './measures.ts';
import type { SimOptions } from './options.ts';
import type { Variant } from './variants.ts';

export interface VariantResult extends Variant {
  readonly figures: Figures;
  readonly jobs: Readonly<Record<string, JobCounts>>;
  readonly samples: readonly Sample[];
}

export type ResultInput = Pick<SimOptions, 'workload' | 'prices' | 'reads' | 'days' | 'seed'>;

export interface SimResult extends ResultInput {
  readonly command: string;
  readonly variants: readonly VariantResult[];
}

/** Runs all of a variant's days; `onDay` hears of each. */
export function simulate(variant: Variant, input: ResultInput, onDay: (day: number) => void = () => {}): VariantResult {
  const { workload, prices, reads, days, seed } = input;
  const fleet = new Fleet({ workload, settings: compactionSettings(variant.options), seed });
  for (let day = 1; day <= days; day += 1) {
    fleet.runDays(day);
    onDay(day);
  }
  fleet.close();
  const { measures, deadlines } = fleet;
  const workerBytesPerSecond = WORKER_BYTES_PER_SECOND;
  const figures = figuresOf({ measures, deadlines, workload, prices, reads, days, workerBytesPerSecond });
  return { ...variant, figures, jobs: Object.fromEntries(measures.jobs), samples: measures.samples };
}
