/** An object store that tries again what another attempt may achieve. */
import { MillraceError } from '../errors/millrace-error.ts';
import { MIB } from '../limits/limits.ts';
import { isObjectKey } from './object-key.ts';
import type { ObjectEntry, ObjectStore, ObjectWriter } from './object-store.ts';
import { NO_REQUESTS, type RequestTally } from './request-tally.ts';
import { isRetryable, retry, RETRY_DEFAULT, systemRetryEnvironment } from './retry.ts';
import type { RetryEnvironment, RetryPolicy } from './retry.ts';
import { RetryingWriter } from './retrying-writer.ts';

export interface RetryingObjectStoreOptions {
  readonly policy?: RetryPolicy;
  readonly environment?: RetryEnvironment;
  /**
   * Objects up to this size are kept in memory until their commit, so that they can be written again. Default 16 MiB.
   */
  readonly replayBytes?: number;
}

const REPLAY_BYTES_DEFAULT = 16 * MIB;

/** Tries again what another store could not do, where that is safe. */
export class RetryingObjectStore implements ObjectStore {
  readonly #inner: ObjectStore;
  readonly #policy: RetryPolicy;
  readonly #environment: RetryEnvironment;
  readonly #replayBytes: number;

  constructor(inner: ObjectStore, options: RetryingObjectStoreOptions = {}) {
    this.#inner = inner;
    this.#policy = options.policy ?? RETRY_DEFAULT;
    this.#environment = options.environment ?? systemRetryEnvironment;
    this.#replayBytes = options.replayBytes ?? REPLAY_BYTES_DEFAULT;
  }

  async create(key: string): Promise<ObjectWriter> {
    const first = await this.#retry(() => this.#inner.create(key));
    return new RetryingWriter({
      store: this.#inner,
      key,
      first,
      policy: this.#policy,
      environment: this.#environment,
      replayBytes: this.#replayBytes,
    });
  }

  read(key: string, position: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#retry(() => this.#inner.read(key, position, length, signal), signal);
  }

  size(key: string): Promise<number | undefined> {
    return this.#retry(() => this.#inner.size(key));
  }

  /** Asks again for the keys that were not confirmed, and for those alone: the rest shrinks with every attempt. */
  async delete(keys: readonly string[]): Promise<string[]> {
    const remaining = new Set(keys.filter(isObjectKey));
    const gone: string[] = [];
    await this.#retry(async () => {
      for (const key of await this.#inner.delete([...remaining])) {
        if (remaining.delete(key)) gone.push(key);
      }
      if (remaining.size > 0) {
        throw new MillraceError('ERR_MILLRACE_UNAVAILABLE', `${remaining.size} objects were not confirmed as deleted`);
      }
    }).catch((error: unknown) => {
      if (!isRetryable(error)) throw error;
    });
    return gone;
  }

  /** A listing that breaks is started again and skips, by key order, what the caller has seen. */
  async *list(prefix?: string): AsyncIterable<ObjectEntry> {
    let seen = '';
    let iterator: AsyncIterator<ObjectEntry> | undefined;
    const next = async (): Promise<ObjectEntry | undefined> => {
      iterator ??= this.#inner.list(prefix)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const step = await iterator.next();
          if (step.done === true) return undefined;
          if (step.value.key > seen) return step.value;
        }
      } catch (error) {
        iterator = undefined;
        throw error;
      }
    };
    try {
      for (let entry = await this.#retry(next); entry !== undefined; entry = await this.#retry(next)) {
        seen = entry.key;
        yield entry;
      }
    } finally {
      await iterator?.return?.();
    }
  }

  removeUnfinished(startedBefore: number, dryRun?: boolean): Promise<number> {
    return this.#retry(() => this.#inner.removeUnfinished(startedBefore, dryRun));
  }

  tally(): RequestTally {
    return this.#inner.tally?.() ?? NO_REQUESTS;
  }

  /** Closes the store behind it. */
  close(): Promise<void> {
    return this.#inner.close();
  }

  #retry<T>(operation: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return retry(operation, this.#policy, this.#environment, signal);
  }
}
