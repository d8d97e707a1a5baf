/**
 * Whether wall time may decide that a record is old. A clock that jumps a day ahead would expire in a moment what was
 * to be kept for a day: after a jump it has to stand for a while before it is believed. Pure.
 */
import type { Clock } from '../base/clock.ts';

/** Wall time that drifts from the monotonic clock by less than this between two looks has not jumped. */
const TOLERANCE = 60_000;
/** A jump that has lasted this long is no accident. */
const CONFIRMED_AFTER = 600_000;

export class ClockTrust {
  readonly #clock: Clock;
  /** Wall time minus monotonic time at the last look. */
  #difference: number;
  #suspectSince = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#difference = clock.now() - clock.monotonic();
  }

  /** Whether the wall clock has kept pace with the monotonic one lately. */
  check(): boolean {
    const monotonic = this.#clock.monotonic();
    const difference = this.#clock.now() - monotonic;
    if (Math.abs(difference - this.#difference) > TOLERANCE) this.#suspectSince = monotonic;
    this.#difference = difference;
    return monotonic - this.#suspectSince >= CONFIRMED_AFTER;
  }
}
