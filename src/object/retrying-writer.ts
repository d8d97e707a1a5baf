/**
 * Writes an object through a store that may fail for a moment. A failed writer takes nothing more, so another attempt
 * begins the object anew from a copy of all bytes so far; objects too large to keep a copy of fail at the first
 * error, and the job that writes them starts over under a new key.
 */
import { assert } from '../base/assert.ts';
import { bytesEqual } from '../base/bytes.ts';
import { isMillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore, ObjectWriter } from './object-store.ts';
import { retry, type RetryEnvironment, type RetryPolicy } from './retry.ts';

export interface RetryingWriterOptions {
  readonly store: ObjectStore;
  readonly key: string;
  /** The writer of the first attempt. */
  readonly first: ObjectWriter;
  readonly policy: RetryPolicy;
  readonly environment: RetryEnvironment;
  readonly replayBytes: number;
}

export class RetryingWriter implements ObjectWriter {
  readonly #options: RetryingWriterOptions;
  /** Copies of everything written; `undefined` once that is more than may be kept. */
  #parts: Uint8Array[] | undefined = [];
  #bytes = 0;
  #writer: ObjectWriter | undefined;
  /** An earlier commit failed with its outcome unknown: the object may be there. */
  #inDoubt = false;
  #state: 'open' | 'failed' | 'ended' = 'open';

  constructor(options: RetryingWriterOptions) {
    this.#options = options;
    this.#writer = options.first;
  }

  async write(bytes: Uint8Array): Promise<void> {
    assert(this.#state === 'open', 'a writer takes bytes until it failed or ended');
    this.#remember(bytes);
    await this.#attempt(async () => {
      if (this.#writer !== undefined) await this.#writer.write(bytes);
      else await this.#replay();
    });
  }

  async commit(): Promise<number> {
    assert(this.#state === 'open', 'a writer commits once, and not after a failure');
    const bytes = await this.#attempt(() => this.#commitOnce());
    this.#state = 'ended';
    return bytes;
  }

  async abort(): Promise<void> {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#parts = undefined;
    await this.#discard();
  }

  async #commitOnce(): Promise<number> {
    const mayExist = this.#inDoubt;
    try {
      const writer = this.#writer ?? (await this.#replay());
      this.#inDoubt = true;
      return await writer.commit();
    } catch (error) {
      // The reply of an earlier commit was lost, and it took effect: without this, we would be refused by ourselves.
      const isOurs = mayExist && isMillraceError(error, 'ERR_MILLRACE_OBJECT_EXISTS') && (await this.#isStored());
      if (isOurs) return this.#bytes;
      throw error;
    }
  }

  #remember(bytes: Uint8Array): void {
    this.#bytes += bytes.byteLength;
    if (this.#bytes > this.#options.replayBytes) this.#parts = undefined;
    else this.#parts?.push(new Uint8Array(bytes));
  }

  /** Starts the object anew with all bytes so far. */
  async #replay(): Promise<ObjectWriter> {
    assert(this.#parts !== undefined, 'only what was kept is written again');
    const writer = await this.#options.store.create(this.#options.key);
    this.#writer = writer;
    for (const part of this.#parts) await writer.write(part);
    return writer;
  }

  /** Whether the object under the key is, byte for byte, what was written here. */
  async #isStored(): Promise<boolean> {
    const { store, key } = this.#options;
    if (this.#parts === undefined || (await store.size(key)) !== this.#bytes) return false;
    return bytesEqual(await store.read(key, 0, this.#bytes), Buffer.concat(this.#parts));
  }

  async #attempt<T>(action: () => Promise<T>): Promise<T> {
    const { policy, environment } = this.#options;
    const step = async (): Promise<T> => {
      try {
        return await action();
      } catch (error) {
        await this.#discard();
        throw error;
      }
    };
    const attempts = this.#parts === undefined ? 1 : policy.attempts;
    try {
      return await retry(step, { ...policy, attempts }, environment);
    } catch (error) {
      this.#state = 'failed';
      throw error;
    }
  }

  async #discard(): Promise<void> {
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.abort();
  }
}
