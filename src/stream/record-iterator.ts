/** Records one by one out of batches. */
import type { RecordBatch, StreamRecord } from '../record/record-batch.ts';

/**
 * Written by hand: an async generator costs three turns of the microtask queue a record, this one promise.
 */
export class RecordIterator implements AsyncIterableIterator<StreamRecord> {
  readonly #batches: AsyncIterator<RecordBatch, unknown>;
  readonly #limit: number;
  #batch: RecordBatch | undefined;
  #index = 0;
  #count = 0;
  #ended = false;

  constructor(batches: AsyncIterator<RecordBatch, unknown>, limit: number) {
    this.#batches = batches;
    this.#limit = limit;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<StreamRecord, undefined>> {
    const batch = this.#batch;
    if (batch !== undefined && this.#index < batch.length && this.#count < this.#limit) {
      this.#count += 1;
      return Promise.resolve({ value: batch.record(this.#index++), done: false });
    }
    return this.#advance();
  }

  async return(): Promise<IteratorResult<StreamRecord, undefined>> {
    this.#ended = true;
    this.#batch = undefined;
    await this.#batches.return?.();
    return { value: undefined, done: true };
  }

  async #advance(): Promise<IteratorResult<StreamRecord, undefined>> {
    if (this.#ended) return { value: undefined, done: true };
    if (this.#count >= this.#limit) return this.return();
    const { value, done } = await this.#batches.next();
    if (done === true) {
      this.#ended = true;
      this.#batch = undefined;
      return { value: undefined, done: true };
    }
    this.#batch = value;
    this.#index = 0;
    return this.next();
  }
}
