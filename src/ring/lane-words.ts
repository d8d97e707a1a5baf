/**
 * The words that a lane's producer and the WAL worker share, in the first page of the ring. Each word has ONE writer
 * and a cache line of its own; all accesses are sequentially consistent (`Atomics`). `docs/threads.md` has the same
 * table.
 *
 * Counters are the low 32 bits of a sequence that never goes back; `widen` restores the rest.
 */

import { assert } from '../base/assert.ts';
import { PAGE_BYTES } from '../base/bytes.ts';
import { SLOT_BYTES_MAX, SLOTS_MAX } from '../limits/limits.ts';

/** 128 bytes apart: processors fetch cache lines in pairs, and a shared pair would still ping-pong. */
const WORD_STRIDE = 32;

const CLOSED_BLOCKS = 0 * WORD_STRIDE;
const DURABLE_BLOCKS = 1 * WORD_STRIDE;
const FAILED = 2 * WORD_STRIDE;
const SLOT_ENDS = 4 * WORD_STRIDE;

const TWO_POW_32 = 2 ** 32;

/** The end of a slot is counted in pages; the low bits of its word are those of the filling's sequence. */
const FILLING_BITS = 14;
const FILLINGS: number = 2 ** FILLING_BITS;

/** As the end of a filling: it still takes blocks. */
export const NOT_ENDED = 0;
/** As the end of a filling: it ended, and all of it was durable, since its slot was given to another. */
export const RECYCLED = -1;

assert(SLOT_BYTES_MAX / PAGE_BYTES < 2 ** (32 - FILLING_BITS), 'the end of the largest slot fits its word');

/** The smallest number not below `last` whose low 32 bits are `word`. */
export function widen(last: number, word: number): number {
  return last + ((word - last) >>> 0);
}

export class LaneWords {
  readonly #words: Int32Array;

  constructor(ring: SharedArrayBuffer) {
    this.#words = new Int32Array(ring, 0, SLOT_ENDS + WORD_STRIDE * SLOTS_MAX);
  }

  /** Sets both counters to the sequence of the next block, before any other thread sees the ring. */
  reset(nextBlock: number): void {
    Atomics.store(this.#words, CLOSED_BLOCKS, (nextBlock % TWO_POW_32) | 0);
    Atomics.store(this.#words, DURABLE_BLOCKS, (nextBlock % TWO_POW_32) | 0);
    Atomics.store(this.#words, FAILED, 0);
  }

  /** Writer: producer. One past the sequence of the last closed block. Publishes the block's bytes. */
  publishClosed(nextBlock: number): void {
    Atomics.store(this.#words, CLOSED_BLOCKS, (nextBlock % TWO_POW_32) | 0);
  }

  /** Reader: WAL worker. `last` is any earlier value. */
  closedBlocks(last: number): number {
    return widen(last, Atomics.load(this.#words, CLOSED_BLOCKS));
  }

  /** Writer: WAL worker. One past the sequence of the last durable block; wakes the producer. */
  publishDurable(nextBlock: number): void {
    Atomics.store(this.#words, DURABLE_BLOCKS, (nextBlock % TWO_POW_32) | 0);
    Atomics.notify(this.#words, DURABLE_BLOCKS);
  }

  /** Readers: producer, flush. */
  durableBlocks(last: number): number {
    return widen(last, Atomics.load(this.#words, DURABLE_BLOCKS));
  }

  /**
   * Resolves when more than `seen` is durable, or the worker failed. Measured against a message port: 15-25 us for the
   * round trip instead of 56-62.
   */
  waitDurable(seen: number): Promise<unknown> | undefined {
    const wait = Atomics.waitAsync(this.#words, DURABLE_BLOCKS, (seen % TWO_POW_32) | 0);
    return wait.async ? wait.value : undefined;
  }

  /** Wakes whoever waits, though nothing has changed: they have something else to look at. */
  wake(): void {
    Atomics.notify(this.#words, DURABLE_BLOCKS);
  }

  /** Writer: WAL worker. Set once, before the last wake-up: nothing more will become durable. */
  publishFailed(): void {
    Atomics.store(this.#words, FAILED, 1);
    Atomics.notify(this.#words, DURABLE_BLOCKS);
  }

  get failed(): boolean {
    return Atomics.load(this.#words, FAILED) !== 0;
  }

  /** Writer: producer. Position in the slot where its filling ended. */
  publishSlotEnd(slotIndex: number, slotSequence: number, position: number): void {
    const pages = position / PAGE_BYTES;
    assert(Number.isInteger(pages) && pages < 2 ** (32 - FILLING_BITS), 'a filling ends at a page of its slot');
    Atomics.store(this.#words, slotEndWord(slotIndex), (pages * FILLINGS + (slotSequence % FILLINGS)) | 0);
  }

  /**
   * Reader: WAL worker. Where filling `slotSequence` of the slot ended; `NOT_ENDED`, or `RECYCLED` when a younger
   * filling of the slot has ended since. The word names its filling: while the worker rests at the end of one, the
   * producer may go all around the ring, and the end of another must not pass for this one's.
   */
  slotEnd(slotIndex: number, slotSequence: number): number {
    const word = Atomics.load(this.#words, slotEndWord(slotIndex)) >>> 0;
    const pages = word >>> FILLING_BITS;
    const ahead = (word - slotSequence) & (FILLINGS - 1);
    if (pages === 0 || ahead >= FILLINGS / 2) return NOT_ENDED;
    return ahead === 0 ? pages * PAGE_BYTES : RECYCLED;
  }
}

function slotEndWord(slotIndex: number): number {
  return SLOT_ENDS + slotIndex * WORD_STRIDE;
}
