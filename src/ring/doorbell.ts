/**
 * Wakes the WAL worker. The only shared words with several writers: the bell carries no data, only "look again".
 */
import type { Clock } from '../base/clock.ts';

const BELL = 0;
const SLEEPING = 32;
const DOORBELL_BYTES = 256;
/** A ring within so many milliseconds came soon. */
const SOON = 0.1;
/** Looks before sleeping: some 50 us. */
const LOOKS = 5_000;

export function allocateDoorbell(): SharedArrayBuffer {
  return new SharedArrayBuffer(DOORBELL_BYTES);
}

export class Doorbell {
  readonly #words: Int32Array;
  /** Whether the last ring came so soon that looking for it beats sleeping. */
  #spins = false;

  readonly #clock: Clock | undefined;

  /** `clock`: of a worker that may look for the next ring before it sleeps. */
  constructor(buffer: SharedArrayBuffer, clock?: Clock) {
    this.#words = new Int32Array(buffer);
    this.#clock = clock;
  }

  /** Called by producers after they published something. Costs a system call only while the worker sleeps. */
  ring(): void {
    Atomics.add(this.#words, BELL, 1);
    if (Atomics.load(this.#words, SLEEPING) !== 0) Atomics.notify(this.#words, BELL);
  }

  /** Called by the worker before it looks for work; what rings after this ends the next `sleep` at once. */
  read(): number {
    return Atomics.load(this.#words, BELL);
  }

  /**
   * Blocks until the bell rings after `seen`, for at most `timeout` milliseconds. Waking a sleeper costs a quarter of a
   * small commit; where the last ring came soon, as with one append after the other, the next one is looked for first.
   */
  sleep(seen: number, timeout: number): void {
    const begun = this.#clock?.monotonic() ?? 0;
    for (let look = 0; this.#spins && look < LOOKS; look += 1) {
      if (Atomics.load(this.#words, BELL) !== seen) return;
    }
    Atomics.store(this.#words, SLEEPING, 1);
    Atomics.wait(this.#words, BELL, seen, timeout);
    Atomics.store(this.#words, SLEEPING, 0);
    this.#spins = this.#clock !== undefined && this.#clock.monotonic() - begun < SOON;
  }
}
