/** In how many objects the readable runs of a stream lie: two runs of one stream may share an object. */
import { assert } from '../../base/assert.ts';

export class ObjectCounts {
  /** Runs by object number. */
  readonly #runs = new Map<number, number>();

  /** Objects with at least one run. */
  get objects(): number {
    return this.#runs.size;
  }

  add(objectNumber: number, runs: number): void {
    const count = (this.#runs.get(objectNumber) ?? 0) + runs;
    assert(count >= 0, 'no more runs leave an object than were counted');
    if (count === 0) this.#runs.delete(objectNumber);
    else this.#runs.set(objectNumber, count);
  }
}
