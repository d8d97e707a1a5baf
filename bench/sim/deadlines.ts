/**
 * Holds the fleet to its deletion deadlines, apart from what the coordinator notes for itself: which objects hold bytes
 * of records that were deleted, and since when they are on the clock.
 */
import type { FoundRun } from '../../src/coordinator/coordinator.ts';

interface Obligation {
  readonly since: number;
  readonly by: number;
}

export class DeadlineWatch {
  /** By object key, the earliest. */
  readonly #open: Map<string, Obligation> = new Map();
  met = 0;
  missed = 0;
  /** Milliseconds beyond the deadline of the latest one; negative: the closest call. */
  worstLateness: number = -Infinity;

  /** Records of these runs were deleted. */
  died(runs: readonly Pick<FoundRun, 'objectKey'>[], now: number, deadline: number): void {
    for (const { objectKey } of runs) {
      if (!this.#open.has(objectKey)) this.#open.set(objectKey, { since: now, by: now + deadline });
    }
  }

  /** What died in the inputs while a job copied them is in its outputs. */
  replaced(inputKeys: readonly string[], outputKeys: readonly string[], claimedAt: number): void {
    for (const inputKey of inputKeys) {
      const obligation = this.#open.get(inputKey);
      if (obligation === undefined || obligation.since < claimedAt) continue;
      for (const outputKey of outputKeys) {
        const before = this.#open.get(outputKey);
        if (before === undefined || before.by > obligation.by) this.#open.set(outputKey, obligation);
      }
    }
  }

  gone(objectKeys: readonly string[], now: number): void {
    for (const objectKey of objectKeys) {
      const obligation = this.#open.get(objectKey);
      if (obligation === undefined) continue;
      this.#open.delete(objectKey);
      this.#judge(obligation, now);
    }
  }

  /** Obligations that are open and late by now are missed too. */
  close(now: number): void {
    for (const obligation of this.#open.values()) if (obligation.by < now) this.#judge(obligation, now);
  }

  #judge({ by }: Obligation, now: number): void {
    this.worstLateness = Math.max(this.worstLateness, now - by);
    if (now > by) this.missed += 1;
    else this.met += 1;
  }
}
