/**
 * What found the ring full, and what came behind it: everything enters the log in the order of its call. Values stay
 * with the caller until there is room.
 */
import { capture, capturedReject, capturedResolve } from '../base/promise-ends.ts';

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

/** What waits for its turn is its promise's two ends too: under pressure every append waits. */
export abstract class Waiting implements Settle {
  readonly promise: Promise<number> = new Promise<number>(capture);
  readonly resolve: (offset: number) => void = capturedResolve;
  readonly reject: (error: unknown) => void = capturedReject;
  /** Of the values that are kept meanwhile. */
  readonly bytes: number;

  constructor(bytes: number) {
    this.bytes = bytes;
  }

  abstract place(): boolean;
  abstract placed(): void;
}

/** Anything else that waits. */
export class WaitingTurn extends Waiting {
  readonly #turn: Turn;

  constructor(turn: Turn, bytes: number) {
    super(bytes);
    this.#turn = turn;
  }

  place(): boolean {
    return this.#turn.place();
  }

  placed(): void {
    this.#turn.placed(this);
  }
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

  add(waiting: Waiting): Promise<number> {
    this.#bytes += waiting.bytes;
    this.#queue.push(waiting);
    return waiting.promise;
  }

  /** There may be room again: goes on until one finds none. */
  drain(): void {
    let drained = 0;
    for (const waiting of this.#queue) {
      try {
        if (!waiting.place()) break;
        waiting.placed();
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
