/** Time as an interface, so that tests and simulations drive it. */
export interface Clock {
  /** Wall time in milliseconds since the epoch. May jump; nothing orders records by it. */
  now(): number;
  /** Milliseconds on a clock that never goes back; only differences have a meaning. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** A clock that moves only when told to. */
export class ManualClock implements Clock {
  #now: number;
  #monotonic = 0;

  constructor(now = 0) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Moves both clocks on by `milliseconds`. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
    this.#monotonic += milliseconds;
  }

  /** Makes wall time jump, backwards too, as an adjusted system clock does. */
  jump(now: number): void {
    this.#now = now;
  }
}
