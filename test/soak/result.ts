/** What a soak has seen, as plain data. */
import type { Machine } from '../../src/cli/machine.ts';
import type { Sample } from '../kill/sampler.ts';

/** How a process ends: SIGKILL, by closing its store, or by closing it once the disk was full. */
export type Ending = 'kill' | 'close' | 'full';

/** Once a second of a process at work. */
export interface SoakSample extends Omit<Sample, 'type' | 'starts'> {
  /** Since the soak began. */
  readonly seconds: number;
  /** Number of the process, from 0. */
  readonly life: number;
  readonly files: number;
  readonly walBytes: number;
  readonly manifestBytes: number;
  readonly objectBytes: number;
}

/** One process, and the check of what it left. */
export interface Life {
  readonly ending: Ending;
  /** Seconds since the soak began. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly checkedAt: number;
  /** Records acknowledged by its end, in all. */
  readonly records: number;
  /** Codes of the errors that it met; empty when it was killed. */
  readonly errors: readonly string[];
  /** With `full`: whether the store could be opened while the disk was, or the code of the error. */
  readonly openedFull?: string;
  /** Of the process that checks, which opens the store again and again: when it is closed. */
  readonly checker: { readonly descriptors: number; readonly residentBytes: number };
}

export interface SoakResult {
  readonly seed: number;
  readonly minutes: number;
  readonly startedAt: string;
  readonly seconds: number;
  readonly machine: Machine;
  /** How the disk became full; `undefined`: it did not, for `reason`. */
  readonly how: string | undefined;
  readonly reason: string | undefined;
  readonly lives: readonly Life[];
  readonly samples: readonly SoakSample[];
  /** Acknowledged records, all of which were found again but for those that retention took. */
  readonly records: number;
  /** What went wrong, and ended the soak; `undefined` when nothing did. */
  readonly failure: string | undefined;
}
