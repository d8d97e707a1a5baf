/** One bit for each record of a stream in a job, by its ordinal: is it in the output? */
import { assert } from '../base/assert.ts';

export class KeptRecords {
  readonly #bits: Uint32Array;
  readonly #records: number;

  /** All of them are kept at first. */
  constructor(records: number) {
    this.#records = records;
    this.#bits = new Uint32Array(Math.ceil(records / 32)).fill(0xffff_ffff);
  }

  drop(ordinal: number): void {
    assert(ordinal >= 0 && ordinal < this.#records, 'a record of the stream');
    const word = ordinal >>> 5;
    this.#bits[word] = (this.#bits[word] as number) & ~(1 << (ordinal & 31));
  }

  isKept(ordinal: number): boolean {
    return (((this.#bits[ordinal >>> 5] as number) >>> (ordinal & 31)) & 1) === 1;
  }

  /** Whether all of `count` records from `ordinal` on are kept. */
  areKept(ordinal: number, count: number): boolean {
    for (let index = ordinal; index < ordinal + count; index += 1) if (!this.isKept(index)) return false;
    return true;
  }
}
