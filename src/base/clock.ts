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

/**
 * Wall time as far as it can be trusted to say that something is old: from when this was made, it goes on no faster
 * than the monotonic clock. A wall clock that jumps ahead does not make what was written a moment ago look old.
 */
export class SteadyTime {
  readonly #clock: Clock;
  /** Wall time minus monotonic time, at most. */
  readonly #lead: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lead = clock.now() - clock.monotonic();
  }

  now(): number {
    return Math.min(this.#clock.now(), this.#clock.monotonic() + this.#lead);
  }
}
