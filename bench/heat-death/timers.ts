/** Timers of a clock that moves by hand. */
import type { ManualClock } from '../../src/base/clock.ts';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

export class Timers {
  readonly #clock: ManualClock;
  readonly #timers = new Set<Timer>();

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  /** Calls back after some milliseconds, unless what it returns is called before. */
  later(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.#clock.monotonic() + milliseconds, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets time pass; timers fire at their moments. */
  advance(milliseconds: number): void {
    const end = this.#clock.monotonic() + milliseconds;
    for (let due = this.#next(end); due !== undefined; due = this.#next(end)) {
      this.#timers.delete(due);
      this.#clock.advance(Math.max(0, due.at - this.#clock.monotonic()));
      due.callback();
    }
    this.#clock.advance(end - this.#clock.monotonic());
  }

  #next(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  }
}
