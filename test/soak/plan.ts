/** How long each process of a soak lives, and how it ends. Pure. */
import type { Random } from '../../src/base/random.ts';
import type { Ending } from './result.ts';

export interface PlannedLife {
  readonly ending: Ending;
  /** Of work, in seconds, until it is ended. */
  readonly seconds: number;
}

export interface Progress {
  /** Of the life to plan, from 0. */
  readonly number: number;
  /** Seconds. */
  readonly elapsed: number;
  readonly total: number;
  /** Whether the disk can become full. */
  readonly full: boolean;
}

const LIFE_MIN = 5;
const LIFE_MAX = 60;
/** Short soaks have several lives, too. */
const LIVES_MIN = 10;
/** One life in so many is longer, and the last one is longest: what grows in a process shows only there. */
const LONG_EVERY = 16;
const LONG_SHARE = 0.1;
const LONG_MAX = 600;
const LAST_SHARE = 0.3;
const LAST_MAX = 3_600;
/** Each comes at once in the beginning, and as often later on. */
const DECK: readonly Ending[] = ['kill', 'full', 'close', 'kill'];

/** `undefined` when the soak is over. */
export function nextLife({ number, elapsed, total, full }: Progress, random: Random): PlannedLife | undefined {
  const left = total - elapsed;
  const longest = Math.min(LIFE_MAX, total / LIVES_MIN);
  const shortest = Math.min(LIFE_MIN, longest);
  if (left < shortest) return undefined;
  const last = Math.min(LAST_MAX, total * LAST_SHARE);
  if (left < last + longest) return { ending: 'close', seconds: left };
  const long = Math.min(LONG_MAX, total * LONG_SHARE);
  if (number % LONG_EVERY === LONG_EVERY - 1) return { ending: 'close', seconds: long };
  const ending = number < DECK.length ? DECK[number] : DECK[random.below(DECK.length)];
  const seconds = shortest + (random.below(1_000) / 1_000) * (longest - shortest);
  return { ending: ending === 'full' && !full ? 'close' : (ending ?? 'kill'), seconds };
}
