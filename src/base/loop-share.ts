/**
 * Lets the event loop turn. Reads that memory answers wait for nothing: a loop of them takes no turn of the event loop,
 * and timers, sockets and the acknowledgements of writes would wait until it ends.
 */
import { setImmediate } from 'node:timers/promises';
import { KIB, MIB } from '../limits/limits.ts';

/** A turn costs microseconds; reading so many bytes takes a millisecond or more. */
const BYTES_A_TURN: number = MIB;
/** What the beginning of a read and a point read cost, in bytes that are read in the same time. */
export const READ_COST: number = 4 * KIB;

export class LoopShare {
  #bytes = 0;

  /** Counts bytes that were read; a promise when it is time to let others have their turn. */
  pause(bytes: number): Promise<void> | undefined {
    this.#bytes += bytes;
    if (this.#bytes < BYTES_A_TURN) return undefined;
    this.#bytes = 0;
    return setImmediate();
  }
}
