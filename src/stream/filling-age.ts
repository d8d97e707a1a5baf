/** Ends a filling that has grown old although it is not full, so that its records get into a segment. */
import { systemTimers, type Timers } from '../base/timers.ts';
import type { Lane } from './lane.ts';

export class FillingAge {
  readonly #lane: () => Lane;
  readonly #interval: number;
  readonly #timers: Timers;
  #cancel: (() => void) | undefined;

  /** `interval`: milliseconds from a filling's first durable record to its end. */
  constructor(lane: () => Lane, interval: number, timers: Timers = systemTimers) {
    this.#lane = lane;
    this.#interval = interval;
    this.#timers = timers;
  }

  /** Something is durable: the filling ages from here, unless it does already. */
  start(): void {
    const lane = this.#lane();
    if (this.#cancel !== undefined || lane.failure !== undefined || lane.producer.slotUsedBytes === 0) return;
    this.#cancel = this.#timers.after(this.#interval, () => {
      this.#cancel = undefined;
      lane.seal();
    });
  }

  /** The filling has ended. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
