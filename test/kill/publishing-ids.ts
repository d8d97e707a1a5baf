/** Ids of a publisher that were acknowledged: all below one of them, and a few beyond. */
export class PublishingIds {
  readonly #beyond = new Set<number>();
  #next = 0;
  #last = -1;

  add(id: number): void {
    this.#last = Math.max(this.#last, id);
    if (id >= this.#next) this.#beyond.add(id);
    while (this.#beyond.delete(this.#next)) this.#next += 1;
  }

  /** The first one that was not acknowledged. */
  get next(): number {
    return this.#next;
  }

  /** The highest one that was; -1 when there is none. */
  get last(): number {
    return this.#last;
  }
}
