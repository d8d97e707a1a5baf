/**
 * Memory that is used again. Left to the garbage collector, what a reader no longer needs would count against the heap
 * until the next full collection, and make that come sooner: reading 512 MiB into fresh memory causes some twenty.
 */

/** Few: what was used up makes room for what is read. */
const IDLE_DEFAULT = 4;

export class SpareMemory {
  readonly #idle: ArrayBuffer[] = [];
  readonly #own: WeakSet<ArrayBuffer> = new WeakSet();
  readonly #idleMax: number;

  /** `idleMax`: pieces kept for the next time. Default 4. */
  constructor(idleMax: number = IDLE_DEFAULT) {
    this.#idleMax = idleMax;
  }

  /** Memory of exactly `bytes`, which is good for `capacity` later. What is not touched takes no memory. */
  buffer(bytes: number, capacity: number = bytes): Uint8Array {
    const found = this.#idle.findIndex(({ byteLength }) => byteLength >= bytes);
    const memory = found === -1 ? this.#allocate(Math.max(bytes, capacity)) : this.#idle.splice(found, 1)[0];
    return new Uint8Array(memory as ArrayBuffer, 0, bytes);
  }

  /**
   * Takes back what nobody looks at any more: memory of `buffer`, and other memory if it is whole. A part of something
   * larger, such as of the pool of small buffers that all of Node shares, stays where it is.
   */
  recycle({ buffer, byteLength }: Uint8Array): void {
    if (!(buffer instanceof ArrayBuffer) || buffer.byteLength === 0 || this.#idle.includes(buffer)) return;
    if (byteLength < buffer.byteLength && !this.#own.has(buffer)) return;
    this.#idle.push(buffer);
    if (this.#idle.length > this.#idleMax) this.#idle.shift();
  }

  #allocate(bytes: number): ArrayBuffer {
    const memory = new ArrayBuffer(bytes);
    this.#own.add(memory);
    return memory;
  }
}
