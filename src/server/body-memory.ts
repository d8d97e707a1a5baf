/**
 * What requests keep of lines and records that have not arrived whole. Small ones go through; of large ones, so many at
 * once may grow as fit into a bound, each up to the largest there is. The others wait, and their clients with them.
 * Whoever has its room never needs more: so all of them come to an end.
 */
import { KIB, MIB } from '../limits/limits.ts';

/** What any request may keep: many times a usual record. */
const FREE_BYTES: number = 64 * KIB;
/** Of all large ones together, at the default of `maxLineBytes` eight. */
const LARGE_BYTES: number = 256 * MIB;

/** The room of one request. */
export interface BodyRoom {
  /** Resolves when the request may keep so many bytes, and take more; rejects with the reason of `gone`. */
  hold(bytes: number, gone: AbortSignal): Promise<void>;
  release(): void;
}

export class BodyMemory {
  #places: number;
  /** Those who wait for a place, in order. */
  readonly #queue: (() => void)[] = [];

  constructor(maxLineBytes: number) {
    this.#places = Math.max(1, Math.floor(LARGE_BYTES / maxLineBytes));
  }

  claim(): BodyRoom {
    let has = false;
    const release = (): void => {
      if (has) this.#leave();
      has = false;
    };
    return {
      hold: async (bytes, gone) => {
        if (bytes <= FREE_BYTES) release();
        else if (!has) {
          await this.#enter(gone);
          has = true;
        }
      },
      release,
    };
  }

  #enter(gone: AbortSignal): Promise<void> {
    gone.throwIfAborted();
    if (this.#places > 0) {
      this.#places -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        gone.removeEventListener('abort', give);
        resolve();
      };
      const give = (): void => {
        this.#queue.splice(this.#queue.indexOf(enter), 1);
        reject(gone.reason as Error);
      };
      this.#queue.push(enter);
      gone.addEventListener('abort', give, { once: true });
    });
  }

  /** The place goes to the one who has waited longest. */
  #leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#places += 1;
    else next();
  }
}
