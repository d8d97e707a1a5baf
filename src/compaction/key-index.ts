/**
 * The latest record of each key, in a fixed amount of memory. It holds the keys of a range of hashes; when it is full
 * it gives up the upper half of that range, and another pass over the records takes it up there. Keys are compared byte
 * by byte: two keys with one hash stay two keys. Only a long key is represented by its SHA-256 instead of itself.
 */
import { createHash } from 'node:crypto';
import { assert } from '../base/assert.ts';
import { bytesEqual } from '../base/bytes.ts';

export interface KeyIndexLimits {
  /** Keys held at once: a power of two. */
  readonly keys: number;
  /** Bytes of keys held at once. */
  readonly bytes: number;
}

/** As large as memory allows: a smaller index takes more passes. */
export const KEY_INDEXES: readonly [KeyIndexLimits, KeyIndexLimits] = [
  { keys: 2 ** 18, bytes: 8 * 1024 * 1024 },
  { keys: 2 ** 16, bytes: 2 * 1024 * 1024 },
];
const BYTES_PER_KEY = 28;

/** Two slots for each key, what is known of it, and the keys themselves. */
export function keyIndexBytes({ keys, bytes }: KeyIndexLimits): number {
  return keys * BYTES_PER_KEY + bytes;
}

/** Longer keys are held as digests: 32 bytes instead of up to 64 KiB. */
const VERBATIM_BYTES_MAX = 64;
/** One past the largest 32-bit hash. */
export const HASHES_END: number = 2 ** 32;
const EMPTY = 0;

export type KeyHash = (key: Uint8Array) => number;

export class KeyIndex {
  readonly #limits: KeyIndexLimits;
  readonly #hash: KeyHash;
  /** Entry number plus one, by hash; twice as many as entries. */
  readonly #slots: Uint32Array;
  readonly #hashes: Uint32Array;
  readonly #ordinals: Float64Array;
  readonly #keyAt: Uint32Array;
  /** Of the key itself, also where its digest is held. */
  readonly #keyBytes: Uint32Array;
  readonly #arena: Uint8Array;
  #entries = 0;
  #filled = 0;
  #from = 0;
  #to: number = HASHES_END;

  /** `hash` yields unsigned 32-bit integers. */
  constructor(hash: KeyHash, limits: KeyIndexLimits = KEY_INDEXES[0]) {
    assert(Number.isInteger(Math.log2(limits.keys)), 'slots are found by masking');
    this.#limits = limits;
    this.#hash = hash;
    this.#slots = new Uint32Array(limits.keys * 2);
    this.#hashes = new Uint32Array(limits.keys);
    this.#ordinals = new Float64Array(limits.keys);
    this.#keyAt = new Uint32Array(limits.keys);
    this.#keyBytes = new Uint32Array(limits.keys);
    this.#arena = new Uint8Array(limits.bytes);
  }

  /** Starts a pass over the keys whose hashes lie at or above `from`. */
  begin(from: number): void {
    this.#from = from;
    this.#to = HASHES_END;
    this.#clear();
  }

  /** Where the next pass begins; `HASHES_END` when all keys have had theirs. */
  get end(): number {
    return this.#to;
  }

  /**
   * Notes that record `ordinal` has this key. Returns the ordinal of the record before it; -1 when there is none, or
   * when the key's turn is in another pass; `undefined` when there is no room for it in any pass.
   */
  put(key: Uint8Array, ordinal: number): number | undefined {
    const hash = this.#hash(key);
    if (hash < this.#from || hash >= this.#to) return -1;
    const held = key.length <= VERBATIM_BYTES_MAX ? key : digestOf(key);
    let slot = this.#find(hash, held, key.length);
    const entry = (this.#slots[slot] as number) - 1;
    if (entry >= 0) {
      const before = this.#ordinals[entry] as number;
      this.#ordinals[entry] = ordinal;
      return before;
    }
    while (this.#entries === this.#limits.keys || this.#filled + held.length > this.#limits.bytes) {
      if (!this.#halve()) return undefined;
      if (hash >= this.#to) return -1;
      slot = this.#find(hash, held, key.length);
    }
    this.#add(slot, hash, held, key.length, ordinal);
    return -1;
  }

  /** The slot of the key, or the empty one where it belongs. */
  #find(hash: number, held: Uint8Array, keyBytes: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const entry = (this.#slots[slot] as number) - 1;
      if (entry < 0) return slot;
      if (this.#hashes[entry] === hash && this.#keyBytes[entry] === keyBytes) {
        const at = this.#keyAt[entry] as number;
        if (bytesEqual(this.#arena.subarray(at, at + held.length), held)) return slot;
      }
      slot = (slot + 1) & mask;
    }
  }

  #add(slot: number, hash: number, held: Uint8Array, keyBytes: number, ordinal: number): void {
    const entry = this.#entries;
    this.#slots[slot] = entry + 1;
    this.#hashes[entry] = hash;
    this.#ordinals[entry] = ordinal;
    this.#keyAt[entry] = this.#filled;
    this.#keyBytes[entry] = keyBytes;
    this.#arena.set(held, this.#filled);
    this.#entries += 1;
    this.#filled += held.length;
  }

  /** Gives up the upper half of the hashes. False when a single hash is left. */
  #halve(): boolean {
    if (this.#to - this.#from <= 1) return false;
    this.#to = this.#from + Math.ceil((this.#to - this.#from) / 2);
    const entries = this.#entries;
    this.#clear();
    for (let entry = 0; entry < entries; entry += 1) {
      const hash = this.#hashes[entry] as number;
      if (hash < this.#to) this.#move(entry, hash);
    }
    return true;
  }

  /** Entries move to the front in their order: none is overwritten before it has moved. */
  #move(entry: number, hash: number): void {
    const at = this.#keyAt[entry] as number;
    const keyBytes = this.#keyBytes[entry] as number;
    const held = this.#arena.subarray(at, at + heldBytes(keyBytes));
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== EMPTY) slot = (slot + 1) & mask;
    this.#add(slot, hash, held, keyBytes, this.#ordinals[entry] as number);
  }

  #clear(): void {
    // Emptying what was used is cheaper than emptying all of it for a stream of few keys.
    if (this.#entries * 8 < this.#slots.length) {
      for (let entry = 0; entry < this.#entries; entry += 1) this.#emptySlotOf(entry);
    } else {
      this.#slots.fill(EMPTY);
    }
    this.#entries = 0;
    this.#filled = 0;
  }

  #emptySlotOf(entry: number): void {
    const mask = this.#slots.length - 1;
    let slot = (this.#hashes[entry] as number) & mask;
    while (this.#slots[slot] !== entry + 1) slot = (slot + 1) & mask;
    this.#slots[slot] = EMPTY;
  }
}

function heldBytes(keyBytes: number): number {
  return keyBytes <= VERBATIM_BYTES_MAX ? keyBytes : 32;
}

function digestOf(key: Uint8Array): Uint8Array {
  return createHash('sha256').update(key).digest();
}
