/** Holds a flow of bytes to a rate. */
import type { Clock } from '../base/clock.ts';

export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export class Pace {
  readonly #bytesPerSecond: number;
  readonly #clock: Clock;
  readonly #sleep: Sleep;
  /** When the bytes taken so far have been paid for. */
  #paidAt = 0;

  constructor(bytesPerSecond: number, clock: Clock, sleep: Sleep) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#clock = clock;
    this.#sleep = sleep;
  }

  /** Resolves when `bytes` may flow. What was not used before is not saved up. */
  async take(bytes: number): Promise<void> {
    if (this.#bytesPerSecond === Infinity) return;
    const now = this.#clock.monotonic();
    const startAt = Math.max(this.#paidAt, now);
    this.#paidAt = startAt + (bytes / this.#bytesPerSecond) * 1_000;
    if (startAt > now) await this.#sleep(startAt - now);
  }
}
