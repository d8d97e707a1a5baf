/** Simulated time: what is to happen when, earliest first; of one moment, in the order of its planning. */
import { required } from '../../src/base/assert.ts';

interface Scheduled {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class EventQueue {
  now: number;
  #orders = 0;
  /** Few events are planned at once: kept sorted, latest first. */
  readonly #events: Scheduled[] = [];

  constructor(now: number) {
    this.now = now;
  }

  after(delay: number, run: () => void): void {
    const event = { at: this.now + delay, order: this.#orders, run };
    this.#orders += 1;
    let index = this.#events.length;
    while (index > 0 && this.#events[index - 1]!.at <= event.at) index -= 1;
    this.#events.splice(index, 0, event);
  }

  /** Repeats `run`, first after one interval. */
  every(interval: number, run: () => void): void {
    this.after(interval, () => {
      run();
      this.every(interval, run);
    });
  }

  runUntil(end: number): void {
    while (this.#events.length > 0 && this.#events.at(-1)!.at <= end) {
      const event = required(this.#events.pop(), 'there is an event');
      this.now = event.at;
      event.run();
    }
    this.now = end;
  }
}
