/**
 * Blocks of objects in memory, bounded in bytes, the least recently used dropped first. A block is a fixed-size,
 * aligned piece of an object (the last one may be shorter). Objects are immutable, so a block never goes stale; it
 * can only be deleted with its object.
 */
import { assert } from '../base/assert.ts';

/** What is known of one object. A new one is made when the key is forgotten and asked for again. */
export interface CachedObject {
  readonly key: string;
  readonly bytes: number;
  readonly blocks: Map<number, CachedBlock>;
}

interface CachedBlock {
  readonly object: CachedObject;
  readonly index: number;
  readonly bytes: Uint8Array;
}

export class BlockCache {
  readonly #maxBytes: number;
  readonly #maxObjects: number;
  readonly #objects = new Map<string, CachedObject>();
  /** Every cached block in order of last use, oldest first. */
  readonly #uses = new Set<CachedBlock>();
  #bytes = 0;

  constructor(maxBytes: number, maxObjects: number) {
    assert(maxBytes >= 0 && maxObjects > 0, 'a cache has bounds');
    this.#maxBytes = maxBytes;
    this.#maxObjects = maxObjects;
  }

  /** Bytes held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** What is known of the object; counts as a use. */
  object(key: string): CachedObject | undefined {
    const object = this.#objects.get(key);
    if (object === undefined) return undefined;
    this.#objects.delete(key);
    this.#objects.set(key, object);
    return object;
  }

  /** Remembers that an object exists and how long it is. */
  remember(key: string, bytes: number): CachedObject {
    const known = this.object(key);
    if (known !== undefined) return known;
    const object: CachedObject = { key, bytes, blocks: new Map() };
    this.#objects.set(key, object);
    for (const oldest of this.#objects.keys()) {
      if (this.#objects.size <= this.#maxObjects) break;
      this.forget(oldest);
    }
    return object;
  }

  block(object: CachedObject, index: number): Uint8Array | undefined {
    const block = object.blocks.get(index);
    if (block === undefined) return undefined;
    this.#uses.delete(block);
    this.#uses.add(block);
    return block.bytes;
  }

  /** Keeps a block, unless its object was forgotten meanwhile or the block alone passes the bound. */
  keep(object: CachedObject, index: number, bytes: Uint8Array): void {
    if (this.#objects.get(object.key) !== object || object.blocks.has(index)) return;
    if (bytes.byteLength > this.#maxBytes) return;
    const block: CachedBlock = { object, index, bytes };
    object.blocks.set(index, block);
    this.#uses.add(block);
    this.#bytes += bytes.byteLength;
    for (const oldest of this.#uses) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#drop(oldest);
    }
  }

  /** Drops everything known of an object. */
  forget(key: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    for (const block of object.blocks.values()) this.#drop(block);
  }

  clear(): void {
    for (const key of [...this.#objects.keys()]) this.forget(key);
    assert(this.#bytes === 0, 'an empty cache holds no bytes');
  }

  #drop(block: CachedBlock): void {
    block.object.blocks.delete(block.index);
    this.#uses.delete(block);
    this.#bytes -= block.bytes.byteLength;
    assert(this.#bytes >= 0, 'no block is dropped twice');
  }
}
