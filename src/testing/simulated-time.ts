/** Time that moves only when told to, for the clocks and timers of any number of stores. */
import type { Clock } from '../base/clock.ts';
import type { Timers } from '../base/timers.ts';

interface Timer {
  at: number;
  readonly action: () => void;
  /** Milliseconds until it fires again; `undefined` for once. */
  readonly interval: number | undefined;
}

/** A clock and timers that move only when they are told to. */
export class SimulatedTime implements Clock, Timers {
  readonly #timers = new Set<Timer>();
  #now: number;
  #monotonic = 0;

  /** Milliseconds since the epoch. Default the beginning of 2026. */
  constructor(now = 1_767_225_600_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Makes wall time jump, backwards too, as an adjusted system clock does. No timer notices. */
  jump(now: number): void {
    this.#now = now;
  }

  /** Lets time pass; timers fire in their order, each at its moment. */
  advance(milliseconds: number): void {
    const end = this.#monotonic + milliseconds;
    for (;;) {
      const timer = this.#first();
      if (timer === undefined || timer.at > end) break;
      this.#fire(timer);
    }
    this.#move(end);
  }

  /** Lets time pass as a machine that sleeps does: each timer that is due by then fires once. */
  passAtOnce(milliseconds: number): void {
    this.#move(this.#monotonic + milliseconds);
    for (const timer of [...this.#timers]) {
      if (timer.at > this.#monotonic || !this.#timers.has(timer)) continue;
      timer.at = this.#monotonic;
      this.#fire(timer);
    }
  }

  /** Moves to the next timer that fires once, firing all on the way. False when there is none. */
  next(): boolean {
    let once: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.interval === undefined && (once === undefined || timer.at < once.at)) once = timer;
    }
    if (once === undefined) return false;
    this.advance(once.at - this.#monotonic);
    return true;
  }

  after(milliseconds: number, action: () => void): () => void {
    return this.#add({ at: this.#monotonic + milliseconds, action, interval: undefined });
  }

  every(milliseconds: number, action: () => void): () => void {
    return this.#add({ at: this.#monotonic + milliseconds, action, interval: milliseconds });
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, milliseconds, signal);
  }

  hold(): () => void {
    return () => undefined;
  }

  /** Timers of one process: once it has ended, none of them fires any more. */
  process(): ProcessTimers {
    return new ProcessTimers(this);
  }

  #add(timer: Timer): () => void {
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
    };
  }

  /** Of several at the same moment the one that was set first. */
  #first(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) if (first === undefined || timer.at < first.at) first = timer;
    return first;
  }

  #fire(timer: Timer): void {
    this.#move(timer.at);
    this.#timers.delete(timer);
    if (timer.interval !== undefined) {
      timer.at += timer.interval;
      this.#timers.add(timer);
    }
    timer.action();
  }

  #move(monotonic: number): void {
    this.#now += Math.max(0, monotonic - this.#monotonic);
    this.#monotonic = Math.max(this.#monotonic, monotonic);
  }
}

export class ProcessTimers implements Timers {
  readonly #time: Timers;
  readonly #running = new Set<() => void>();
  #ended = false;

  constructor(time: Timers) {
    this.#time = time;
  }

  /** What waits, waits forever. */
  end(): void {
    this.#ended = true;
    for (const cancel of this.#running) cancel();
    this.#running.clear();
  }

  after(milliseconds: number, action: () => void): () => void {
    const cancel = this.#start(() =>
      this.#time.after(milliseconds, () => {
        this.#running.delete(cancel);
        action();
      }),
    );
    return cancel;
  }

  every(milliseconds: number, action: () => void): () => void {
    return this.#start(() => this.#time.every(milliseconds, action));
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, milliseconds, signal);
  }

  hold(): () => void {
    return this.#time.hold();
  }

  #start(start: () => () => void): () => void {
    if (this.#ended) return () => undefined;
    const stop = start();
    const cancel = (): void => {
      this.#running.delete(cancel);
      stop();
    };
    this.#running.add(cancel);
    return cancel;
  }
}

function sleepOn(timers: Timers, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = timers.after(milliseconds, resolve);
    const abort = (): void => {
      cancel();
      resolve();
    };
    signal?.addEventListener('abort', abort, { once: true });
  });
}
