/**
 * An object store that fails as a remote one does, by a seed: before the effect, after it with the reply lost, and with
 * bodies that are cut short or changed on the way. Writers and deletes fail in the same ways.
 */
import { assert } from '../../src/base/assert.ts';
import type { Random } from '../../src/base/random.ts';
import { MillraceError } from '../../src/errors/millrace-error.ts';
import type { ObjectEntry, ObjectStore, ObjectWriter } from '../../src/object/object-store.ts';

export const FAULTS = ['unavailable', 'lost', 'timeoutAfterSuccess', 'shortBody', 'bitFlip', 'unconfirmed'] as const;
export type Fault = (typeof FAULTS)[number];

/** Probability of each fault per call, from 0 to 1; those left out do not happen. */
export type FaultRates = Partial<Record<Fault, number>>;

export class FaultyObjectStore implements ObjectStore {
  /** Faults injected so far: a test that met none has proven nothing. */
  readonly injected: Record<Fault, number> = {
    unavailable: 0,
    lost: 0,
    timeoutAfterSuccess: 0,
    shortBody: 0,
    bitFlip: 0,
    unconfirmed: 0,
  };
  readonly #inner: ObjectStore;
  readonly #random: Random;
  #rates: FaultRates;

  constructor(inner: ObjectStore, random: Random, rates: FaultRates) {
    this.#inner = inner;
    this.#random = random;
    this.#rates = rates;
  }

  /** Changes the rates; `{}` heals the store. */
  setRates(rates: FaultRates): void {
    this.#rates = rates;
  }

  async create(key: string): Promise<ObjectWriter> {
    return this.call(async () => new FaultyWriter(this, await this.#inner.create(key)));
  }

  async read(key: string, position: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const bytes = await this.call(() => this.#inner.read(key, position, length, signal));
    if (bytes.length > 0 && this.#happens('shortBody')) return bytes.slice(0, this.#random.below(bytes.length));
    if (bytes.length > 0 && this.#happens('bitFlip')) {
      const changed = new Uint8Array(bytes);
      const index = this.#random.below(changed.length);
      changed[index] = (changed[index] ?? 0) ^ (1 << this.#random.below(8));
      return changed;
    }
    return bytes;
  }

  size(key: string): Promise<number | undefined> {
    return this.call(() => this.#inner.size(key));
  }

  /** A key that is not confirmed may have been deleted or not, as after a lost reply. */
  async delete(keys: readonly string[]): Promise<string[]> {
    const spared = new Set(keys.filter(() => this.#happens('unconfirmed')));
    const asked = keys.filter((key) => !spared.has(key) || this.#random.below(2) === 0);
    const gone = await this.call(() => this.#inner.delete(asked));
    return gone.filter((key) => !spared.has(key));
  }

  async *list(prefix?: string): AsyncIterable<ObjectEntry> {
    for await (const entry of this.#inner.list(prefix)) {
      await this.call(async () => undefined);
      yield entry;
    }
  }

  removeUnfinished(startedBefore: number, dryRun?: boolean): Promise<number> {
    return this.call(() => this.#inner.removeUnfinished(startedBefore, dryRun));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Runs one request with faults around its effect. */
  async call<T>(effect: () => Promise<T>): Promise<T> {
    for (const fault of ['unavailable', 'lost'] as const) {
      if (this.#happens(fault)) throw new MillraceError('ERR_MILLRACE_UNAVAILABLE', `injected: ${fault}`);
    }
    const result = await effect();
    if (this.#happens('timeoutAfterSuccess')) {
      throw new MillraceError('ERR_MILLRACE_UNAVAILABLE', 'injected: timeoutAfterSuccess');
    }
    return result;
  }

  #happens(fault: Fault): boolean {
    const rate = this.#rates[fault] ?? 0;
    if (rate === 0 || this.#random.uint32() >= rate * 2 ** 32) return false;
    this.injected[fault] += 1;
    return true;
  }
}

class FaultyWriter implements ObjectWriter {
  readonly #store: FaultyObjectStore;
  readonly #inner: ObjectWriter;
  #failed = false;

  constructor(store: FaultyObjectStore, inner: ObjectWriter) {
    this.#store = store;
    this.#inner = inner;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#step(() => this.#inner.write(bytes));
  }

  commit(): Promise<number> {
    return this.#step(() => this.#inner.commit());
  }

  abort(): Promise<void> {
    return this.#inner.abort();
  }

  async #step<T>(effect: () => Promise<T>): Promise<T> {
    assert(!this.#failed, 'a failed writer accepts only abort');
    try {
      return await this.#store.call(effect);
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }
}
