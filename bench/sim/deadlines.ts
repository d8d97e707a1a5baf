/**
 * Holds the fleet to its deletion deadlines, apart from what the coordinator notes for itself: which objects hold bytes
 * of records that were deleted, and by when these have to be gone.
 */
import type { FoundRun } from '../../src/coordinator/coordinator.ts';

interface Obligation {
  /** Counts deletions: those of one moment come before or after a claim all the same. */
  readonly order: number;
  readonly streamId: number;
  readonly by: number;
}

/** An output of a job, and whose runs it holds. */
interface Replacement {
  readonly key: string;
  readonly runs: readonly { readonly streamId: number }[];
}

export class DeadlineWatch {
  /** By object key, in the order of the deletions. */
  readonly #open: Map<string, Obligation[]> = new Map();
  #order = 0;
  met = 0;
  missed = 0;
  /** Milliseconds beyond the deadline of the latest one; negative: the closest call. */
  worstLateness: number = -Infinity;

  /** Records of these runs were deleted. */
  died(runs: readonly Pick<FoundRun, 'objectKey' | 'streamId'>[], now: number, deadline: number): void {
    this.#order += 1;
    for (const { objectKey, streamId } of runs) {
      const obligation = { order: this.#order, streamId, by: now + deadline };
      const open = this.#open.get(objectKey);
      if (open === undefined) this.#open.set(objectKey, [obligation]);
      else open.push(obligation);
    }
  }

  /** A job that claims its inputs now leaves out what has died so far. */
  claimed(): number {
    return this.#order;
  }

  /** What died in the inputs since the claim is in those outputs that hold runs of its stream. */
  replaced(inputKeys: readonly string[], outputs: readonly Replacement[], claim: number): void {
    const late = inputKeys.flatMap((key) => (this.#open.get(key) ?? []).filter(({ order }) => order > claim));
    if (late.length === 0) return;
    for (const { key, runs } of outputs) {
      const streams = new Set(runs.map(({ streamId }) => streamId));
      const inherited = late.filter(({ streamId }) => streams.has(streamId));
      if (inherited.length > 0) this.#open.set(key, inherited);
    }
  }

  gone(objectKeys: readonly string[], now: number): void {
    for (const objectKey of objectKeys) {
      const open = this.#open.get(objectKey);
      if (open === undefined) continue;
      this.#open.delete(objectKey);
      this.#judge(open, now);
    }
  }

  /** Obligations that are open and late by now are missed too. */
  close(now: number): void {
    for (const open of this.#open.values()) if (earliest(open) < now) this.#judge(open, now);
  }

  /** An object counts once, by the first of its deadlines. */
  #judge(open: readonly Obligation[], now: number): void {
    const lateness = now - earliest(open);
    this.worstLateness = Math.max(this.worstLateness, lateness);
    if (lateness > 0) this.missed += 1;
    else this.met += 1;
  }
}

function earliest(open: readonly Obligation[]): number {
  return Math.min(...open.map(({ by }) => by));
}
