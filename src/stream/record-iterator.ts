/** Records one by one out of batches. */
import type { RecordBatch, StreamRecord } from '../record/record-batch.ts';
import type { BatchIterator } from './batch-iterator.ts';

type Result = IteratorResult<StreamRecord, undefined>;

const END: Result = { value: undefined, done: true };

/**
 * Written by hand: an async generator costs three turns of the microtask queue a record, this one promise. Calls of
 * `next` may overlap: each gets the record behind that of the call before it.
 */
export class RecordIterator implements AsyncIterableIterator<StreamRecord> {
  readonly #batches: BatchIterator;
  readonly #signal: AbortSignal | undefined;
  #batch: RecordBatch | undefined;
  #index = 0;
  /** The last call that waits for a batch; later ones queue up behind it. */
  #pending: Promise<Result> | undefined;

  constructor(batches: BatchIterator, signal: AbortSignal | undefined) {
    this.#batches = batches;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const batch = this.#batch;
    if (batch !== undefined && this.#pending === undefined && this.#index < batch.length && !this.#isAborted()) {
      return Promise.resolve({ value: batch.record(this.#index++), done: false });
    }
    const before = this.#pending ?? Promise.resolve();
    const pending = before.then(
      () => this.#advance(),
      () => this.#advance(),
    );
    this.#pending = pending;
    const settled = (): void => {
      if (this.#pending === pending) this.#pending = undefined;
    };
    pending.then(settled, settled);
    return pending;
  }

  /** Ends the reading, also while a call of `next` waits for records: that one is answered with the end. */
  async return(): Promise<Result> {
    this.#batch = undefined;
    await this.#batches.return();
    return END;
  }

  #isAborted(): boolean {
    return this.#signal?.aborted === true;
  }

  /** An aborted reading ends here too: the batches check the signal. */
  async #advance(): Promise<Result> {
    while (this.#batch === undefined || this.#index >= this.#batch.length || this.#isAborted()) {
      this.#batch = undefined;
      const { value, done } = await this.#batches.next();
      if (done === true) return END;
      this.#batch = value;
      this.#index = 0;
    }
    return { value: this.#batch.record(this.#index++), done: false };
  }
}
