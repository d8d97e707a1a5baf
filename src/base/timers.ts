import { setTimeout as sleepFor } from 'node:timers/promises';

/** Waiting as an interface, so that simulations drive it. Times are in milliseconds. */
export interface Timers {
  /** Calls `action` once, later; the result cancels that. Keeps no process alive. */
  after(milliseconds: number, action: () => void): () => void;
  /** Calls `action` again and again; the result ends that. Keeps no process alive. */
  every(milliseconds: number, action: () => void): () => void;
  /** A wait that can be aborted ends early then, and keeps no process alive. Never rejects. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Keeps the process alive until the result is called. */
  hold(): () => void;
}

/** The longest that a timer can wait. */
const LONGEST: number = 2 ** 31 - 1;

export const systemTimers: Timers = {
  after: (milliseconds, action) => {
    const timer = setTimeout(action, milliseconds);
    timer.unref();
    return () => {
      clearTimeout(timer);
    };
  },
  every: (milliseconds, action) => {
    const timer = setInterval(action, milliseconds);
    timer.unref();
    return () => {
      clearInterval(timer);
    };
  },
  sleep: async (milliseconds, signal) => {
    const options = signal === undefined ? {} : { ref: false, signal };
    await sleepFor(milliseconds, undefined, options).catch(() => undefined);
  },
  hold: () => {
    const timer = setInterval(() => undefined, LONGEST);
    return () => {
      clearInterval(timer);
    };
  },
};
