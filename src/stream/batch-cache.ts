/**
 * Decoded chunks in memory, bounded by bytes, for point reads. A chunk is kept from the second time on that it is asked
 * for: reads here and there in a large store would push out what others come back to, and pay for memory that nobody
 * looks at again.
 */
import { assert } from '../base/assert.ts';
import type { RecordBatch } from '../record/record-batch.ts';

interface CachedBatch {
  readonly batch: RecordBatch;
  readonly bytes: number;
}

export class BatchCache {
  readonly #maxBytes: number;
  /** Insertion order is use order. */
  readonly #batches = new Map<string, CachedBatch>();
  #bytes = 0;
  /** Bytes of chunks that were read and not kept, for as long as the cache would hold them; 0 during the read. */
  readonly #passed = new Map<string, number>();
  #passedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(name: string): RecordBatch | undefined {
    const cached = this.#batches.get(name);
    if (cached === undefined) return undefined;
    this.#batches.delete(name);
    this.#batches.set(name, cached);
    return cached.batch;
  }

  /** Whether a chunk that is not here was asked for lately. If not, it is now: `passed` or `failed` follows. */
  wasAskedFor(name: string): boolean {
    const bytes = this.#passed.get(name);
    if (bytes === undefined) {
      this.#passed.set(name, 0);
      return false;
    }
    this.#passed.delete(name);
    this.#passedBytes -= bytes;
    return true;
  }

  /** A chunk of so many bytes was read and not kept. */
  passed(name: string, bytes: number): void {
    // Somebody else has asked for it meanwhile, and keeps it.
    const before = this.#passed.get(name);
    if (before === undefined) return;
    this.#passed.delete(name);
    this.#passed.set(name, bytes);
    this.#passedBytes += bytes - before;
    for (const [oldest, held] of this.#passed) {
      if (this.#passedBytes <= this.#maxBytes) break;
      this.#passed.delete(oldest);
      this.#passedBytes -= held;
    }
  }

  /** A chunk could not be read. */
  failed(name: string): void {
    if (this.#passed.get(name) === 0) this.#passed.delete(name);
  }

  keep(name: string, batch: RecordBatch, bytes: number): void {
    assert(!this.#batches.has(name), 'a batch is kept once');
    if (bytes > this.#maxBytes) return;
    this.#batches.set(name, { batch, bytes });
    this.#bytes += bytes;
    for (const [oldest, cached] of this.#batches) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#batches.delete(oldest);
      this.#bytes -= cached.bytes;
    }
  }
}
