/** Objects in memory: for tests and simulations, with the contract of the real ones. */
import { throwIfAborted } from '../errors/aborted.ts';
import { assert } from '../base/assert.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { checkRange, objectEndsEarly, objectExists, objectNotFound } from './object-errors.ts';
import { checkObjectKey, isObjectKey } from './object-key.ts';
import type { ObjectEntry, ObjectStore, ObjectWriter } from './object-store.ts';

const PLACE = 'memory';

interface StoredObject {
  readonly bytes: Uint8Array;
  readonly modifiedAt: number;
}

/** Objects in memory, gone with the process. */
export class MemoryObjectStore implements ObjectStore {
  readonly #clock: Clock;
  readonly #objects = new Map<string, StoredObject>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async create(key: string): Promise<ObjectWriter> {
    checkObjectKey(key);
    return new MemoryWriter((bytes) => {
      if (this.#objects.has(key)) throw objectExists(key, PLACE);
      this.#objects.set(key, { bytes, modifiedAt: this.#clock.now() });
    });
  }

  async read(key: string, position: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    checkRange(position, length);
    throwIfAborted(signal);
    checkObjectKey(key);
    const bytes = this.#objects.get(key)?.bytes;
    if (bytes === undefined) throw objectNotFound(key, PLACE);
    if (position + length > bytes.length) throw objectEndsEarly(key, position, length, bytes.length);
    return new Uint8Array(bytes.subarray(position, position + length));
  }

  async size(key: string): Promise<number | undefined> {
    checkObjectKey(key);
    return this.#objects.get(key)?.bytes.length;
  }

  async delete(keys: readonly string[]): Promise<string[]> {
    const gone = keys.filter(isObjectKey);
    for (const key of gone) this.#objects.delete(key);
    return gone;
  }

  async *list(prefix = ''): AsyncIterable<ObjectEntry> {
    for (const key of [...this.#objects.keys()].sort()) {
      const object = this.#objects.get(key);
      if (object === undefined || !key.startsWith(prefix)) continue;
      yield { key, bytes: object.bytes.length, modifiedAt: object.modifiedAt };
    }
  }

  /** Writers keep to themselves what they have until they commit. */
  async removeUnfinished(): Promise<number> {
    return 0;
  }

  /** Does nothing. */
  async close(): Promise<void> {
    // Nothing is held that the garbage collector does not free.
  }
}

class MemoryWriter implements ObjectWriter {
  readonly #publish: (bytes: Uint8Array) => void;
  readonly #parts: Uint8Array[] = [];
  #open = true;

  constructor(publish: (bytes: Uint8Array) => void) {
    this.#publish = publish;
  }

  async write(bytes: Uint8Array): Promise<void> {
    assert(this.#open, 'a writer takes bytes until it ended');
    this.#parts.push(new Uint8Array(bytes));
  }

  async commit(): Promise<number> {
    assert(this.#open, 'a writer commits once');
    this.#open = false;
    const bytes = Buffer.concat(this.#parts);
    this.#publish(bytes);
    return bytes.length;
  }

  async abort(): Promise<void> {
    this.#open = false;
    this.#parts.length = 0;
  }
}
