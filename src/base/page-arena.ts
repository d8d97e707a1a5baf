/**
 * Pieces of one page-aligned memory: windows of inputs that are read past the page cache, and parts of objects on
 * their way to S3. Memory of WebAssembly is freed by a full collection alone, so a thread keeps the arena of its last
 * user for the next one.
 */
import { assert } from './assert.ts';
import { alignUp, PAGE_BYTES } from './bytes.ts';
import { allocatePages } from './page-memory.ts';
import { SpareMemory } from './spare-memory.ts';

interface Gap {
  at: number;
  bytes: number;
}

/** A larger one is left to the collector: it was one large job's. */
const KEPT_BYTES_MAX: number = 64 * 1024 * 1024;

const idle = new SpareMemory(1, allocatePages);

export class PageArena {
  #memory: Uint8Array;
  /** By position; no two touch. */
  readonly #gaps: Gap[];
  #closed = false;

  /** What is not touched takes no memory. */
  constructor(bytes: number) {
    const size = alignUp(Math.max(bytes, PAGE_BYTES), PAGE_BYTES);
    // All of what there is: it may be larger.
    this.#memory = new Uint8Array(idle.buffer(size).buffer);
    this.#gaps = [{ at: 0, bytes: this.#memory.length }];
  }

  /** Page-aligned memory of exactly `bytes`; other memory, which may lie anywhere, where no gap is large enough. */
  take(bytes: number): Uint8Array {
    assert(!this.#closed, 'an arena gives memory until it is closed');
    const length = alignUp(Math.max(bytes, 1), PAGE_BYTES);
    const index = this.#gaps.findIndex((gap) => gap.bytes >= length);
    const gap = this.#gaps[index];
    if (gap === undefined) return Buffer.allocUnsafeSlow(bytes);
    const piece = this.#memory.subarray(gap.at, gap.at + bytes);
    gap.at += length;
    gap.bytes -= length;
    if (gap.bytes === 0) this.#gaps.splice(index, 1);
    return piece;
  }

  /** Takes back a piece, or whole pages of one, once, that nobody uses any more. Other memory is let go. */
  giveBack(piece: Uint8Array): void {
    if (piece.buffer !== this.#memory.buffer) return;
    const at = piece.byteOffset;
    const bytes = alignUp(Math.max(piece.length, 1), PAGE_BYTES);
    const found = this.#gaps.findIndex((gap) => gap.at > at);
    const index = found === -1 ? this.#gaps.length : found;
    const before = this.#gaps[index - 1];
    const after = this.#gaps[index];
    const isTaken = (before === undefined || before.at + before.bytes <= at) && at + bytes <= (after?.at ?? Infinity);
    assert(isTaken, 'a piece is given back once');
    this.#gaps.splice(index, 0, { at, bytes });
    this.#join(index);
    this.#join(index - 1);
    this.#keep();
  }

  /** The memory is kept for the next arena of this thread once all pieces are back. */
  close(): void {
    this.#closed = true;
    this.#keep();
  }

  #join(index: number): void {
    const gap = this.#gaps[index];
    const next = this.#gaps[index + 1];
    if (gap === undefined || next === undefined || gap.at + gap.bytes !== next.at) return;
    gap.bytes += next.bytes;
    this.#gaps.splice(index + 1, 1);
  }

  #keep(): void {
    const isWhole = this.#gaps.length === 1 && this.#gaps[0]?.bytes === this.#memory.length;
    if (!this.#closed || !isWhole || this.#memory.length > KEPT_BYTES_MAX) return;
    idle.recycle(this.#memory);
    this.#memory = new Uint8Array(0);
    this.#gaps.length = 0;
  }
}
