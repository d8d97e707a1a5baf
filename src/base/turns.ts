/** Pieces of asynchronous work that exclude each other: they run one after the other, in the order of their calls. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` once all earlier pieces have ended, well or not. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
