/**
 * Wakes the WAL worker. The only shared words with several writers: the bell carries no data, only "look again".
 */

const BELL = 0;
const SLEEPING = 32;
const DOORBELL_BYTES = 256;

export function allocateDoorbell(): SharedArrayBuffer {
  return new SharedArrayBuffer(DOORBELL_BYTES);
}

export class Doorbell {
  readonly #words: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
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

  /** Blocks until the bell rings after `seen`, for at most `timeout` milliseconds. */
  sleep(seen: number, timeout: number): void {
    Atomics.store(this.#words, SLEEPING, 1);
    Atomics.wait(this.#words, BELL, seen, timeout);
    Atomics.store(this.#words, SLEEPING, 0);
  }
}
