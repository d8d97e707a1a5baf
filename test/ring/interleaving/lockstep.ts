/** What the two threads of a model share besides the words under test: who may run, and what the other one did. */
import type { Access } from './explorer.ts';
import { plainAtomics } from './gate.ts';

/** The consumer's state. */
export const STATE = { running: 0, stopped: 1, blocked: 2, ended: 3, failed: 4 } as const;
export type State = (typeof STATE)[keyof typeof STATE];

const TURN = 0;
const BLOCKED_ON = 1;
const COUNT = 2;
const WRITTEN = 3;
const STOP = 4;
const NOTIFIED = 5;
const NOTIFIED_COUNT = 6;
const ACCESSES = 16;
const ACCESSES_MAX = 64;
const WORDS = ACCESSES + 2 * ACCESSES_MAX;

export function allocateLockstep(): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * WORDS);
}

export class Lockstep {
  readonly #words: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  reset(): void {
    this.#words.fill(0);
  }

  /** Blocks whose bytes are in the files. */
  get written(): number {
    return plainAtomics.load(this.#words, WRITTEN);
  }

  set written(blocks: number) {
    plainAtomics.store(this.#words, WRITTEN, blocks);
  }

  get stopAsked(): boolean {
    return plainAtomics.load(this.#words, STOP) !== 0;
  }

  askStop(): void {
    plainAtomics.store(this.#words, STOP, 1);
  }

  get blockedOn(): number {
    return plainAtomics.load(this.#words, BLOCKED_ON);
  }

  /** Called by the consumer: tells what it did, and stays where it is until it may go on. */
  yield(state: State, accesses: readonly Access[], blockedOn = 0): void {
    if (accesses.length > ACCESSES_MAX) throw new Error('too many accesses between two gates');
    for (const [index, { word, writes }] of accesses.entries()) {
      this.#words[ACCESSES + 2 * index] = word;
      this.#words[ACCESSES + 2 * index + 1] = writes ? 1 : 0;
    }
    this.#words[COUNT] = accesses.length;
    plainAtomics.store(this.#words, BLOCKED_ON, blockedOn);
    this.#hand(state);
    if (state !== STATE.ended && state !== STATE.failed) this.#await(state);
  }

  /** Called by the consumer before its first step. */
  awaitStart(): void {
    this.#await(STATE.stopped);
  }

  notified(word: number): void {
    this.#words[NOTIFIED] = word;
    this.#words[NOTIFIED_COUNT] = (this.#words[NOTIFIED_COUNT] ?? 0) + 1;
  }

  /** Words that the consumer notified since the last call; one at most between two stops. */
  takeNotified(): number | undefined {
    const count = this.#words[NOTIFIED_COUNT] ?? 0;
    this.#words[NOTIFIED_COUNT] = 0;
    return count === 0 ? undefined : this.#words[NOTIFIED];
  }

  /** Called by the scheduler: lets the consumer take one step. */
  step(): { readonly state: State; readonly accesses: readonly Access[] } {
    this.#hand(STATE.running);
    this.#await(STATE.running);
    const count = this.#words[COUNT] ?? 0;
    const accesses = Array.from({ length: count }, (_, index) => ({
      word: this.#words[ACCESSES + 2 * index] ?? 0,
      writes: this.#words[ACCESSES + 2 * index + 1] === 1,
    }));
    return { state: plainAtomics.load(this.#words, TURN) as State, accesses };
  }

  /** Lets the consumer wait for its first step. */
  prepare(): void {
    plainAtomics.store(this.#words, TURN, STATE.stopped);
  }

  #hand(state: State): void {
    plainAtomics.store(this.#words, TURN, state);
    plainAtomics.notify(this.#words, TURN);
  }

  #await(whileState: State): void {
    // Looking again and again first is slower: on a busy machine it keeps the other thread from its processor.
    while (plainAtomics.load(this.#words, TURN) === whileState)
      plainAtomics.wait(this.#words, TURN, whileState, 10_000);
  }
}
