/**
 * Memory that is used again. Left to the garbage collector, what a reader no longer needs would count against the heap
 * until the next full collection, and make that come sooner: reading 512 MiB into fresh memory causes some twenty. And
 * fresh pages are two to three times slower on their first use.
 */

/** Few: what was used up makes room for what is read. */
const IDLE_DEFAULT = 4;

export class SpareMemory {
  readonly #idle: ArrayBuffer[] = [];
  readonly #own: WeakSet<ArrayBufferLike> = new WeakSet();
  readonly #idleMax: number;
  readonly #allocate: (bytes: number) => Uint8Array;

  /** `idleMax`: pieces kept for the next time. Default 4. `allocate`: what new memory is. Default an array. */
  constructor(idleMax: number = IDLE_DEFAULT, allocate: (bytes: number) => Uint8Array = newArray) {
    this.#idleMax = idleMax;
    this.#allocate = allocate;
  }

  /** Memory of exactly `bytes`, which is good for `capacity` later. What is not touched takes no memory. */
  buffer(bytes: number, capacity: number = bytes): Uint8Array {
    const found = this.#idle.findIndex(({ byteLength }) => byteLength >= bytes);
    const [memory = this.#new(Math.max(bytes, capacity))] = found === -1 ? [] : this.#idle.splice(found, 1);
    return new Uint8Array(memory, 0, bytes);
  }

  /**
   * Takes back what nobody looks at any more: memory of `buffer`, and other memory if it is whole. A part of something
   * larger, such as of the pool of small buffers that all of Node shares, stays where it is. Of more than is kept, the
   * smallest goes, the oldest of several.
   */
  recycle({ buffer, byteLength }: Uint8Array): void {
    if (!(buffer instanceof ArrayBuffer) || buffer.byteLength === 0 || this.#idle.includes(buffer)) return;
    if (byteLength < buffer.byteLength && !this.#own.has(buffer)) return;
    this.#idle.push(buffer);
    if (this.#idle.length <= this.#idleMax) return;
    const sizes = this.#idle.map((idle) => idle.byteLength);
    this.#idle.splice(sizes.indexOf(Math.min(...sizes)), 1);
  }

  #new(bytes: number): ArrayBuffer {
    const { buffer } = this.#allocate(bytes);
    this.#own.add(buffer);
    return buffer as ArrayBuffer;
  }
}

function newArray(bytes: number): Uint8Array {
  return new Uint8Array(bytes);
}
