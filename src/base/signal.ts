/** Waits for the next time something happens: one promise shared by all who wait. */
export class Signal {
  #next: Promise<void> | undefined;
  #resolve: (() => void) | undefined;

  /** Resolves at the next `notify`. */
  wait(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#next;
  }

  /** Wakes everybody who waits. */
  notify(): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#next = undefined;
    this.#resolve = undefined;
    resolve();
  }
}
