/**
 * Waits for durability with open eyes. To wake a thread that sleeps in its event loop takes 15-25 us, beside a sync of
 * 75-100: where the last wait was short, as with one append after the other on a fast disk, the word is looked at once
 * a turn of the event loop instead. Whatever else there is to do goes on in between.
 */
import type { Clock } from '../base/clock.ts';
import type { WaitDurable } from './durability.ts';

/** A wait of so many milliseconds was short, and is not looked for longer. */
const SHORT = 0.25;
/** Taken before a program's tests may replace it by one that stands still. */
const nextTurn = setImmediate;

/** `hasProcessor`: whether looking keeps no other thread of the store from its work. */
export function lookBeforeWaiting(clock: Clock, hasProcessor: () => boolean): WaitDurable {
  let wasShort = false;
  return (words, seen) => {
    const begun = clock.monotonic();
    const isOver = (): boolean => words.failed || words.durableBlocks(seen) > seen;
    const ended = (): void => {
      wasShort = clock.monotonic() - begun < SHORT;
    };
    if (!wasShort || !hasProcessor()) return words.waitDurable(seen)?.then(ended);
    if (isOver()) return undefined;
    return new Promise((resolve) => {
      const look = (): void => {
        ended();
        if (isOver()) resolve(undefined);
        else if (wasShort && hasProcessor()) nextTurn(look);
        else resolve(words.waitDurable(seen));
      };
      nextTurn(look);
    });
  };
}
