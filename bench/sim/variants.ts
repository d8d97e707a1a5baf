/** The defaults, and what they are compared with. */
import type { CompactionOptions } from '../../src/compaction/settings.ts';
import { MIB } from '../../src/limits/limits.ts';

export interface Variant {
  readonly name: string;
  readonly options: CompactionOptions;
}

const MINUTE = 60_000;
const YEAR = 365 * 24 * 60 * MINUTE;

export const VARIANTS: readonly Variant[] = [
  { name: 'defaults', options: {} },
  { name: 'target 32 MiB', options: { targetBytes: 32 * MIB } },
  { name: 'target 256 MiB', options: { targetBytes: 256 * MIB } },
  {
    name: 'age 5-10 minutes',
    options: { minFirstGenerationAge: 5 * MINUTE, maxFirstGenerationAge: 10 * MINUTE },
  },
  {
    name: 'age 60-90 minutes',
    options: { minFirstGenerationAge: 60 * MINUTE, maxFirstGenerationAge: 90 * MINUTE },
  },
  { name: 'jobs of 128 MiB', options: { jobBytes: 128 * MIB } },
  { name: 'jobs of 192 MiB', options: { jobBytes: 192 * MIB } },
  { name: 'dirty 0.25', options: { dirtyRatio: 0.25 } },
  { name: 'dirty 0.75', options: { dirtyRatio: 0.75 } },
  { name: 'one generation', options: { maxGenerations: 1 } },
  { name: 'three generations', options: { maxGenerations: 3 } },
  { name: 'first inputs 8', options: { maxFirstGenerationInputs: 8 } },
  { name: '8 to 16 inputs', options: { minInputs: 8, maxInputs: 16 } },
  { name: 'bucket 6 hours', options: { expiryBucket: 360 * MINUTE } },
  { name: 'bucket off', options: { expiryBucket: 100 * YEAR } },
];
