/**
 * Collects output in page-aligned buffers and hands it to a `SegmentSink` in whole pages, so that a file written with
 * direct I/O takes it without another copy. Two buffers: one fills while the other is being written.
 */
import { assert, AssertionError } from '../base/assert.ts';
import { PAGE_BYTES } from '../base/bytes.ts';
import { allocatePages } from '../base/page-memory.ts';
import { SpareMemory } from '../base/spare-memory.ts';
import type { SegmentSink } from './sink.ts';

/** Bytes of one write, except the last. Larger writes gain little on any disk measured; smaller ones cost syncs. */
export const OUTPUT_BUFFER_BYTES: number = 1024 * 1024;

/** Where the sink copies them again. */
const COPIED_BUFFER_BYTES: number = 128 * 1024;

/** Of outputs that have ended. Each WebAssembly memory reserves gigabytes of address space. */
const pages = new SpareMemory(8, allocatePages);

export class PagedOutput {
  readonly #sink: SegmentSink;
  readonly #bufferBytes: number;
  #filling: Uint8Array;
  #other: Uint8Array;
  #filled = 0;
  #inFlight: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #position = 0;
  #released = false;

  constructor(sink: SegmentSink) {
    this.#sink = sink;
    this.#bufferBytes = sink.copies === true ? COPIED_BUFFER_BYTES : OUTPUT_BUFFER_BYTES;
    this.#filling = this.#buffer();
    this.#other = this.#buffer();
  }

  #buffer(): Uint8Array {
    return this.#isInPages() ? pages.buffer(this.#bufferBytes) : new Uint8Array(this.#bufferBytes);
  }

  /** Bytes taken so far: the position of the next byte in the object. */
  get position(): number {
    return this.#position;
  }

  /** Bytes that `put` takes without waiting for a write. */
  get room(): number {
    return this.#bufferBytes - this.#filled + (this.#inFlight === undefined ? this.#bufferBytes : 0);
  }

  /** Copies `bytes`, of which there is room for all. */
  put(bytes: Uint8Array): void {
    assert(!this.#released && bytes.length <= this.room, 'output is put only where there is room');
    let from = 0;
    while (from < bytes.length) {
      if (this.#filled === this.#bufferBytes) this.#startWrite();
      const count = Math.min(bytes.length - from, this.#bufferBytes - this.#filled);
      this.#filling.set(count === bytes.length ? bytes : bytes.subarray(from, from + count), this.#filled);
      this.#filled += count;
      from += count;
    }
    this.#position += bytes.length;
  }

  /** Copies any number of bytes, waiting for writes where it must. The bytes stay unchanged until then. */
  async putAll(bytes: Uint8Array): Promise<void> {
    for (let from = 0; from < bytes.length;) {
      if (this.room === 0) await this.settle();
      const count = Math.min(bytes.length - from, this.room);
      this.put(bytes.subarray(from, from + count));
      from += count;
    }
  }

  /** Waits for the write in flight; then there is room for at least one buffer. Throws what made a write fail. */
  async settle(): Promise<void> {
    await this.#inFlight;
    this.#throwFailure();
    if (this.#filled === this.#bufferBytes) this.#startWrite();
  }

  /** Writes what is left: whole pages by now. */
  async finish(): Promise<void> {
    assert(this.#position % PAGE_BYTES === 0, 'an object ends at a page boundary');
    await this.settle();
    if (this.#filled > 0) this.#startWrite();
    await this.#inFlight;
    this.#throwFailure();
    this.#release();
  }

  /** Ends the output without writing more, once the write in flight has ended: its buffer is used again afterwards. */
  async abandon(): Promise<void> {
    this.#failure ??= { error: new AssertionError('the output was abandoned') };
    await this.#inFlight;
    this.#release();
  }

  #release(): void {
    if (this.#released) return;
    this.#released = true;
    if (!this.#isInPages()) return;
    pages.recycle(this.#filling);
    pages.recycle(this.#other);
  }

  #isInPages(): boolean {
    return this.#bufferBytes === OUTPUT_BUFFER_BYTES;
  }

  #startWrite(): void {
    assert(this.#inFlight === undefined && !this.#released, 'one write at a time');
    const full = this.#filling;
    const bytes = full.subarray(0, this.#filled);
    this.#filling = this.#other;
    this.#other = full;
    this.#filled = 0;
    // The error is kept, not thrown: nobody may be waiting yet.
    this.#inFlight = this.#sink.write(bytes).then(
      () => {
        this.#inFlight = undefined;
      },
      (error: unknown) => {
        this.#inFlight = undefined;
        this.#failure = { error };
      },
    );
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
