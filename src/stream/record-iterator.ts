/** Records one by one out of batches. */
import type { RecordBatch, StreamRecord } from '../record/record-batch.ts';

type Result = IteratorResult<StreamRecord, undefined>;

const END: Result = { value: undefined, done: true };

/**
 * Written by hand: an async generator costs three turns of the microtask queue a record, this one promise. Calls of
 * `next` may overlap: each gets the record behind that of the call before it.
 */
export class RecordIterator implements AsyncIterableIterator<StreamRecord> {
  readonly #batches: AsyncIterator<RecordBatch, unknown>;
  readonly #limit: number;
  readonly #signal: AbortSignal | undefined;
  /** Ends a wait for the next batch. */
  readonly #stop: () => void;
  #batch: RecordBatch | undefined;
  #index = 0;
  #count = 0;
  #ended = false;
  /** The last call that waits for a batch; later ones queue up behind it. */
  #pending: Promise<Result> | undefined;

  constructor(
    batches: AsyncIterator<RecordBatch, unknown>,
    limit: number,
    signal: AbortSignal | undefined,
    stop: () => void,
  ) {
    this.#batches = batches;
    this.#limit = limit;
    this.#signal = signal;
    this.#stop = stop;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const batch = this.#batch;
    if (batch !== undefined && this.#pending === undefined && this.#index < batch.length && this.#mayTake()) {
      this.#count += 1;
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
    this.#ended = true;
    this.#batch = undefined;
    this.#stop();
    await this.#batches.return?.();
    return END;
  }

  #mayTake(): boolean {
    return this.#count < this.#limit && this.#signal?.aborted !== true;
  }

  async #advance(): Promise<Result> {
    if (this.#ended) return END;
    if (this.#count >= this.#limit) return this.return();
    while (this.#batch === undefined || this.#index >= this.#batch.length || this.#signal?.aborted === true) {
      const batch = await this.#nextBatch();
      if (batch === undefined) return END;
      this.#batch = batch;
      this.#index = 0;
    }
    this.#count += 1;
    return { value: this.#batch.record(this.#index++), done: false };
  }

  /** `undefined` at the end. An aborted reading ends here too: the batches check the signal. */
  async #nextBatch(): Promise<RecordBatch | undefined> {
    try {
      const { value, done } = await this.#batches.next();
      if (done !== true && !this.#ended) return value;
    } catch (error) {
      // The abort that `return` caused is not the caller's.
      if (!this.#ended) {
        this.#end();
        throw error;
      }
    }
    this.#end();
    return undefined;
  }

  #end(): void {
    this.#ended = true;
    this.#batch = undefined;
  }
}
