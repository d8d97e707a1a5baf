import { randomFillSync } from 'node:crypto';

/** Randomness as an interface, so that one seed replays a whole run. */
export interface Random {
  /** A uniform integer in [0, 2^32). */
  uint32(): number;
  /** A uniform integer in [0, bound). */
  below(bound: number): number;
  /** Fills and returns `length` bytes. */
  bytes(length: number): Uint8Array;
}

/** Unpredictable randomness, for ids and jitter. */
export const systemRandom: Random = {
  uint32: () => new DataView(systemRandom.bytes(4).buffer).getUint32(0, true),
  below: (bound) => Math.floor((systemRandom.uint32() / 2 ** 32) * bound),
  bytes: (length) => randomFillSync(new Uint8Array(length)),
};

/** A repeatable generator (splitmix32): the same seed gives the same sequence on every machine. */
export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  uint32(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  }

  below(bound: number): number {
    return Math.floor((this.uint32() / 2 ** 32) * bound);
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let index = 0; index < length; index += 1) bytes[index] = this.uint32() & 0xff;
    return bytes;
  }
}
