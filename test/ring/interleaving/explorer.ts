/**
 * Runs a program of two threads through every order of its accesses to shared words. Orders that differ only in
 * accesses to different words, or in two readings of one, come to the same: of those one is run (sleep sets).
 *
 * Each run begins anew and repeats the decisions of the one before up to the last that can still be taken differently.
 */

import type { Random } from '../../../src/base/random.ts';

/** One access to a shared word. */
export interface Access {
  readonly word: number;
  readonly writes: boolean;
}

/** A decision: which thread goes on. */
interface Decision {
  readonly enabled: readonly number[];
  /** Threads whose next step was tried before in an order that comes to the same. */
  readonly asleep: ReadonlyMap<number, readonly Access[]>;
  /** Tried here, with what their next step accessed. */
  readonly tried: Map<number, readonly Access[]>;
  chosen: number;
  accesses: readonly Access[];
}

export interface Order {
  /** Which of the threads that can go on does. */
  choose(enabled: readonly number[]): number;
  /** What the chosen thread accessed, up to where it stopped. */
  record(accesses: readonly Access[]): void;
  /** Ends a run. Returns whether there is another order to run. */
  next(): boolean;
  /** Complete runs, those not counted that turned out to repeat another. */
  readonly runs: number;
}

/** A thread goes on for so many steps before the other has its turn, on average; drawn for each run. */
const STRIDES = [2, 8, 64];

/** So many orders, drawn at random. In some of them one thread gets far ahead of the other. */
export class RandomOrders implements Order {
  readonly #random: Random;
  readonly #count: number;
  #stride = 2;
  #last = 0;
  runs = 0;

  constructor(count: number, random: Random) {
    this.#count = count;
    this.#random = random;
  }

  choose(enabled: readonly number[]): number {
    const stays = enabled.includes(this.#last) && this.#random.below(this.#stride) > 0;
    if (!stays) this.#last = enabled[this.#random.below(enabled.length)] as number;
    return this.#last;
  }

  record(): void {}

  next(): boolean {
    this.runs += 1;
    this.#stride = STRIDES[this.runs % STRIDES.length] as number;
    return this.runs < this.#count;
  }
}

/** Every order, once. */
export class EveryOrder implements Order {
  readonly #path: Decision[] = [];
  #depth = 0;
  /** Every continuation of this run was run before. */
  #redundant = false;
  runs = 0;

  choose(enabled: readonly number[]): number {
    if (this.#redundant) return enabled[0] as number;
    const known = this.#path[this.#depth];
    if (known !== undefined) {
      if (known.enabled.join() !== enabled.join()) throw new Error('the program is not deterministic');
      return known.chosen;
    }
    const asleep = this.#asleepAfter(this.#path[this.#depth - 1]);
    const chosen = enabled.find((thread) => !asleep.has(thread));
    if (chosen === undefined) {
      this.#redundant = true;
      return enabled[0] as number;
    }
    this.#path.push({ enabled, asleep, tried: new Map(), chosen, accesses: [] });
    return chosen;
  }

  record(accesses: readonly Access[]): void {
    if (this.#redundant) return;
    const decision = this.#path[this.#depth] as Decision;
    decision.accesses = accesses;
    this.#depth += 1;
  }

  next(): boolean {
    if (!this.#redundant) this.runs += 1;
    this.#redundant = false;
    this.#depth = 0;
    for (let last = this.#path.at(-1); last !== undefined; last = this.#path.at(-1)) {
      last.tried.set(last.chosen, last.accesses);
      const { enabled, asleep, tried } = last;
      const other = enabled.find((thread) => !tried.has(thread) && !asleep.has(thread));
      if (other !== undefined) {
        last.chosen = other;
        last.accesses = [];
        return true;
      }
      this.#path.pop();
    }
    return false;
  }

  #asleepAfter(decision: Decision | undefined): Map<number, readonly Access[]> {
    if (decision === undefined) return new Map();
    const { chosen, accesses, asleep, tried } = decision;
    return new Map(
      [...asleep, ...tried].filter(([thread, theirs]) => thread !== chosen && independent(theirs, accesses)),
    );
  }
}

function independent(left: readonly Access[], right: readonly Access[]): boolean {
  return left.every((a) => right.every((b) => a.word !== b.word || !(a.writes || b.writes)));
}
