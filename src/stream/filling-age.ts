/** Ends a filling that has grown old although it is not full, so that its records get into a segment. */
import type { Lane } from './lane.ts';

export class FillingAge {
  readonly #lane: () => Lane;
  readonly #interval: number;
  #timer: NodeJS.Timeout | undefined;

  /** `interval`: milliseconds from a filling's first durable record to its end. */
  constructor(lane: () => Lane, interval: number) {
    this.#lane = lane;
    this.#interval = interval;
  }

  /** Something is durable: the filling ages from here, unless it does already. */
  start(): void {
    const lane = this.#lane();
    if (this.#timer !== undefined || lane.failure !== undefined || lane.producer.slotUsedBytes === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      lane.seal();
    }, this.#interval);
    this.#timer.unref();
  }

  /** The filling has ended. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
