/**
 * Bytes that arrive in parts. They are copied: a part is a view of what one read of a socket gave, and a million views
 * of a byte each would take a hundred times the memory that the bytes take.
 */

const CAPACITY_MIN = 256;
const EMPTY: Buffer = Buffer.alloc(0);

export class ByteCollector {
  #memory: Buffer = EMPTY;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(part: Uint8Array): void {
    const length = this.#length + part.length;
    if (length > this.#memory.length) {
      // Twice what is needed, so that each byte is copied twice on average.
      const memory = Buffer.allocUnsafeSlow(Math.max(CAPACITY_MIN, 2 * length));
      this.#memory.copy(memory, 0, 0, this.#length);
      this.#memory = memory;
    }
    this.#memory.set(part, this.#length);
    this.#length = length;
  }

  /** All bytes so far, which are the caller's from now on; begins anew. */
  take(): Buffer {
    const bytes = this.#memory.subarray(0, this.#length);
    this.#memory = EMPTY;
    this.#length = 0;
    return bytes;
  }
}
