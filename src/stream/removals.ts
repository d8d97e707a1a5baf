/**
 * Counts the moments at which records may have gone: a log start moved, a stream was deleted, other processes were
 * looked at. Whoever goes by an answer from before such a moment asks whether what it names is still there.
 */
export class Removals {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Records of some stream have gone, or may have. */
  happened(): void {
    this.#count += 1;
  }
}
