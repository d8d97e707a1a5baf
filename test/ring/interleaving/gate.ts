/**
 * Puts a gate at every access to shared words: `Atomics` of this thread is replaced while production code runs under a
 * scheduler. The code itself is the real one. A reading waits at its gate before it happens, a writing before and
 * after, so that the other thread can meet what lies between two accesses at any moment that a machine allows.
 */
import type { Access } from './explorer.ts';

/** What happens at gates. */
export interface Gatekeeper {
  /** Lets the thread stop here. `accesses` are those since the last stop. */
  pass(accesses: readonly Access[]): void;
  /**
   * The thread waits for a notification of `word`, which holds what it saw. `accesses` are those since the last stop,
   * this one included.
   */
  block(word: number, accesses: readonly Access[]): void;
  /** Wakes the other thread if it waits for `word`. */
  notify(word: number): void;
}

type Words = Int32Array;

/** Whether anybody waits for a word is shared, too: only waits and notifications access that. */
const WAITERS = 32_768;

/** Names a word: buffers in the order of `buffers`, then words. */
function wordOf(buffers: readonly SharedArrayBuffer[], words: Words, index: number): number {
  const buffer = buffers.findIndex((each) => each === words.buffer);
  if (buffer < 0) throw new Error('a shared word that the scheduler does not know');
  return buffer * 65_536 + index;
}

const real = {
  load: Atomics.load.bind(Atomics),
  store: Atomics.store.bind(Atomics),
  add: Atomics.add.bind(Atomics),
  notify: Atomics.notify.bind(Atomics),
  wait: Atomics.wait.bind(Atomics),
  waitAsync: Atomics.waitAsync.bind(Atomics),
};

/** `Atomics` as it is without gates. */
export const plainAtomics: Pick<typeof Atomics, 'load' | 'store' | 'add' | 'notify' | 'wait'> = real;

/** Gates all accesses of this thread to words in `buffers`, until the returned function is called. */
export function installGates(buffers: readonly SharedArrayBuffer[], keeper: Gatekeeper): () => readonly Access[] {
  let accesses: Access[] = [];
  const stop = (): void => {
    const since = accesses;
    accesses = [];
    keeper.pass(since);
  };
  const take = (): readonly Access[] => {
    const since = accesses;
    accesses = [];
    return since;
  };
  const access = <T>(word: number, writes: boolean, act: () => T): T => {
    stop();
    accesses.push({ word, writes });
    const result = act();
    if (writes) stop();
    return result;
  };
  const nameOf = (words: Words, index: number): number => wordOf(buffers, words, index);
  const waiting = (words: Words, index: number, seen: number): 'not-equal' | 'ok' => {
    stop();
    const word = nameOf(words, index);
    accesses.push({ word, writes: false }, { word: word + WAITERS, writes: true });
    if (real.load(words, index) !== seen) return 'not-equal';
    keeper.block(word, take());
    return 'ok';
  };
  Object.assign(Atomics, {
    load: (words: Words, index: number) => access(nameOf(words, index), false, () => real.load(words, index)),
    store: (words: Words, index: number, value: number) =>
      access(nameOf(words, index), true, () => real.store(words, index, value)),
    add: (words: Words, index: number, value: number) =>
      access(nameOf(words, index), true, () => real.add(words, index, value)),
    notify: (words: Words, index: number) =>
      access(nameOf(words, index) + WAITERS, true, () => {
        keeper.notify(nameOf(words, index));
        return 0;
      }),
    // Nobody's clock moves here: a wait that only a timeout would end is a wake-up that was lost.
    wait: waiting,
    waitAsync: (words: Words, index: number, seen: number) => ({ async: false, value: waiting(words, index, seen) }),
  });
  return () => {
    Object.assign(Atomics, real);
    return take();
  };
}
