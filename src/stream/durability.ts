/** How the appends of a lane become durable, and who is told. */
import type { LaneWords } from '../ring/lane-words.ts';
import { AckQueue } from './ack-queue.ts';

export interface Durability {
  /** Log position up to which everything is durable. */
  readonly durableEnd: number;
  /** Adds an append whose last byte is in the block that is open now. */
  push(resolve: (offset: number) => void, reject: (error: unknown) => void, streamId: number, offset: number): void;
  /** The open block was published. */
  closed(nextBlock: number, logEnd: number): void;
  /** Resolves when everything before `logEnd` is durable; rejects when it never will be. */
  whenDurable(logEnd: number): Promise<void>;
  /** Nothing more becomes durable: rejects everything that waits and everything to come. */
  fail(error: Error): void;
}

export interface DurabilityObserver {
  /** More of the log is durable. */
  durable(): void;
  /** Whether any append waits for durability. */
  waiting(waits: boolean): void;
}

interface DurableWait {
  readonly logEnd: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Those who wait for log positions, in log order. */
export class DurableWaits {
  readonly #waits: DurableWait[] = [];

  add(logEnd: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waits.push({ logEnd, resolve, reject });
    });
  }

  settle(durableEnd: number): void {
    while (this.#waits[0] !== undefined && this.#waits[0].logEnd <= durableEnd) this.#waits.shift()?.resolve();
  }

  rejectAll(error: Error): void {
    for (const { reject } of this.#waits.splice(0)) reject(error);
  }
}

/** Resolves when more than `seen` blocks are durable, or none will be; `undefined` when that is so already. */
export type WaitDurable = (words: LaneWords, seen: number) => Promise<unknown> | undefined;

const waitOnWord: WaitDurable = (words, seen) => words.waitDurable(seen);

/** Durable when the WAL worker says so. */
export class WalDurability implements Durability {
  readonly #words: LaneWords;
  readonly #observer: DurabilityObserver;
  readonly #waitDurable: WaitDurable;
  readonly #acks = new AckQueue();
  readonly #waits = new DurableWaits();
  #durableBlocks: number;
  #durableEnd: number;
  #waiting = false;
  #failure: Error | undefined;

  /** `nextBlock` and `logEnd`: where the log of the lane begins. */
  constructor(
    words: LaneWords,
    nextBlock: number,
    logEnd: number,
    observer: DurabilityObserver,
    waitDurable: WaitDurable = waitOnWord,
  ) {
    this.#words = words;
    this.#observer = observer;
    this.#waitDurable = waitDurable;
    this.#durableBlocks = nextBlock;
    this.#durableEnd = logEnd;
  }

  get durableEnd(): number {
    return this.#durableEnd;
  }

  push(resolve: (offset: number) => void, reject: (error: unknown) => void, _streamId: number, offset: number): void {
    this.#acks.push(resolve, reject, offset);
  }

  closed(nextBlock: number, logEnd: number): void {
    this.#acks.mark(nextBlock, logEnd);
    if (this.#waiting || this.#failure !== undefined) return;
    this.#waiting = true;
    this.#observer.waiting(true);
    this.#wait();
  }

  whenDurable(logEnd: number): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return logEnd <= this.#durableEnd ? Promise.resolve() : this.#waits.add(logEnd);
  }

  fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#acks.rejectAll(error);
    this.#waits.rejectAll(error);
    this.#observer.waiting(false);
    this.#observer.durable();
  }

  /** Takes over what the WAL worker has published. */
  poll(): void {
    this.#durableBlocks = this.#words.durableBlocks(this.#durableBlocks);
    const logEnd = this.#acks.settle(this.#durableBlocks);
    if (logEnd === undefined) return;
    this.#durableEnd = logEnd;
    this.#waits.settle(logEnd);
    this.#observer.durable();
  }

  #wait(): void {
    const wait = this.#waitDurable(this.#words, this.#durableBlocks);
    if (wait === undefined) process.nextTick(this.#onDurable);
    else void wait.then(this.#onDurable);
  }

  readonly #onDurable = (): void => {
    if (this.#failure !== undefined) return;
    this.poll();
    if (this.#acks.hasMarks) {
      this.#wait();
      return;
    }
    this.#waiting = false;
    this.#observer.waiting(false);
  };
}
