/**
 * What found the ring full, and what came behind it: everything enters the log in the order of its call. Values stay
 * with the caller until there is room.
 */

export interface Settle {
  readonly resolve: (offset: number) => void;
  readonly reject: (error: unknown) => void;
}

/** Something that enters the log in its turn. */
export interface Turn {
  /** Writes as much as there is room for. Returns whether all is written; throws when it is refused after all. */
  place(): boolean;
  /** Everything is written: says when to settle. */
  placed(settle: Settle): void;
}

interface Waiting extends Settle {
  readonly turn: Turn;
  readonly bytes: number;
}

export class TurnQueue {
  readonly #queue: Waiting[] = [];
  #bytes = 0;

  /** How many wait. */
  get length(): number {
    return this.#queue.length;
  }

  /** Bytes of values that wait, by reference. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Waits for its turn. */
  add(turn: Turn, bytes: number): Promise<number> {
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      this.#queue.push({ turn, bytes, resolve, reject });
    });
  }

  /** There may be room again: goes on until one finds none. */
  drain(): void {
    let drained = 0;
    for (const waiting of this.#queue) {
      try {
        if (!waiting.turn.place()) break;
        waiting.turn.placed(waiting);
      } catch (error) {
        waiting.reject(error);
      }
      this.#bytes -= waiting.bytes;
      drained += 1;
    }
    this.#queue.splice(0, drained);
  }

  /** Takes out everything that waits. */
  clear(): readonly Settle[] {
    this.#bytes = 0;
    return this.#queue.splice(0);
  }
}
