/** Batches of a reading that can be ended at any moment, also while a call of `next` waits for records. */
import type { RecordBatch } from '../record/record-batch.ts';
import { Halt } from './batch-cursor.ts';

type Result = IteratorResult<RecordBatch, undefined>;

const END: Result = { value: undefined, done: true };

export class BatchIterator implements AsyncGenerator<RecordBatch, undefined, unknown> {
  readonly #batches: AsyncGenerator<RecordBatch, unknown>;
  readonly #halt = new Halt();
  /** Records that may still be delivered. */
  #left: number;
  #ended = false;

  constructor(batches: (halt: Halt) => AsyncGenerator<RecordBatch, unknown>, limit: number) {
    this.#batches = batches(this.#halt);
    this.#left = limit;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Result> {
    if (this.#ended) return END;
    if (this.#left === 0) return this.return();
    try {
      const { value, done } = await this.#batches.next();
      if (this.#ended) return END;
      if (done === true) {
        this.#ended = true;
        return END;
      }
      const batch = value.first(this.#left);
      this.#left -= batch.length;
      // Calls that overlap this one may be waiting for more.
      if (this.#left === 0) await this.return();
      return { value: batch, done: false };
    } catch (error) {
      // The abort that `return` caused is not the caller's.
      if (this.#ended) return END;
      this.#ended = true;
      throw error;
    }
  }

  /** Ends the reading; calls of `next` that wait are answered with the end. */
  async return(_value?: unknown): Promise<Result> {
    this.#ended = true;
    this.#halt.set();
    await this.#batches.return(undefined);
    return END;
  }

  async throw(error: unknown): Promise<Result> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
