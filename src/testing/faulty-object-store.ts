/**
 * An object store behind a way that is not to be relied on: besides what that does to requests, bodies are cut short or
 * changed, and deletions are not confirmed. Writers fail in the same ways.
 */
import { assert } from '../base/assert.ts';
import type { Random } from '../base/random.ts';
import type { ObjectEntry, ObjectStore, ObjectWriter } from '../object/object-store.ts';
import { type FaultRates, type Later, type ServiceFault, UnreliableService } from './unreliable-service.ts';

/** What can go wrong with a request to an object store. */
export type ObjectFault = ServiceFault | 'shortBody' | 'bitFlip' | 'unconfirmed';

/** An object store whose requests fail at the rates given. */
export class FaultyObjectStore implements ObjectStore {
  /** Decides which request fails, and how. */
  readonly service: UnreliableService<ObjectFault>;
  readonly #inner: ObjectStore;
  readonly #random: Random;

  constructor(inner: ObjectStore, random: Random, rates: FaultRates<ObjectFault>, later?: Later) {
    this.#inner = inner;
    this.#random = random;
    this.service = new UnreliableService(random, rates, later);
  }

  /** Faults so far, by kind. */
  get injected(): UnreliableService<ObjectFault>['injected'] {
    return this.service.injected;
  }

  /** Changes the rates; `{}` heals the store. */
  setRates(rates: FaultRates<ObjectFault>): void {
    this.service.setRates(rates);
  }

  async create(key: string): Promise<ObjectWriter> {
    return this.service.call(async () => new FaultyWriter(this.service, await this.#inner.create(key)));
  }

  async read(key: string, position: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    const bytes = await this.service.call(() => this.#inner.read(key, position, length, signal));
    if (bytes.length > 0 && this.service.happens('shortBody')) return bytes.slice(0, this.#random.below(bytes.length));
    if (bytes.length > 0 && this.service.happens('bitFlip')) {
      const changed = new Uint8Array(bytes);
      const index = this.#random.below(changed.length);
      changed[index] = (changed[index] ?? 0) ^ (1 << this.#random.below(8));
      return changed;
    }
    return bytes;
  }

  size(key: string): Promise<number | undefined> {
    return this.service.call(() => this.#inner.size(key));
  }

  /** A key that is not confirmed may have been deleted or not, as after a lost reply. */
  async delete(keys: readonly string[]): Promise<string[]> {
    const spared = new Set(keys.filter(() => this.service.happens('unconfirmed')));
    const asked = keys.filter((key) => !spared.has(key) || this.#random.below(2) === 0);
    const gone = await this.service.call(() => this.#inner.delete(asked));
    return gone.filter((key) => !spared.has(key));
  }

  async *list(prefix?: string): AsyncIterable<ObjectEntry> {
    for await (const entry of this.#inner.list(prefix)) {
      await this.service.call(async () => undefined);
      yield entry;
    }
  }

  removeUnfinished(startedBefore: number, dryRun?: boolean): Promise<number> {
    return this.service.call(() => this.#inner.removeUnfinished(startedBefore, dryRun));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

class FaultyWriter implements ObjectWriter {
  readonly #service: UnreliableService<ObjectFault>;
  readonly #inner: ObjectWriter;
  #failed = false;

  constructor(service: UnreliableService<ObjectFault>, inner: ObjectWriter) {
    this.#service = service;
    this.#inner = inner;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#step(() => this.#inner.write(bytes), true);
  }

  commit(): Promise<number> {
    return this.#step(() => this.#inner.commit());
  }

  abort(): Promise<void> {
    return this.#inner.abort();
  }

  /** Parts of an object are numbered: none is kept twice, or behind a later one. */
  async #step<T>(effect: () => Promise<T>, isPart = false): Promise<T> {
    assert(!this.#failed, 'a failed writer accepts only abort');
    try {
      return await this.#service.call(effect, isPart);
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }
}
