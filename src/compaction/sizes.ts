/** How much goes into one output. */
import type { CompactionSettings } from './settings.ts';

/** Outputs for so many bytes: of equal size and as near to the target as a whole number of them allows. */
export function outputsFor(bytes: number, { targetBytes }: Pick<CompactionSettings, 'targetBytes'>): number {
  return Math.max(1, Math.round(bytes / targetBytes));
}
