/**
 * Which reads block. Bytes that the page cache holds are there in 2 to 4 us, while the way through the thread pool
 * takes 15 us and ten times the processor time (docs/decisions/0013). Nobody can tell beforehand whether they are
 * there, so a read that took long makes those after it go the long way, and each next try waits for more of them.
 */

/** Longer reads are worth the way. */
const BLOCKING_BYTES_MAX: number = 64 * 1024;
/** Milliseconds. No page cache takes longer, and hardly any disk is faster. */
const SLOW_AFTER = 0.06;
const PAUSE_MIN = 16;
const PAUSE_MAX = 4_096;

export class BlockingReads {
  /** Reads that go through the thread pool before one blocks again. */
  #left = 0;
  #pause = PAUSE_MIN;

  /** Whether a read of so many bytes blocks: then `took` follows. */
  takes(bytes: number): boolean {
    if (bytes > BLOCKING_BYTES_MAX) return false;
    if (this.#left === 0) return true;
    this.#left -= 1;
    return false;
  }

  /** How long a blocking read took, in milliseconds. */
  took(milliseconds: number): void {
    if (milliseconds <= SLOW_AFTER) {
      this.#pause = PAUSE_MIN;
      return;
    }
    this.#left = this.#pause;
    this.#pause = Math.min(2 * this.#pause, PAUSE_MAX);
  }
}
