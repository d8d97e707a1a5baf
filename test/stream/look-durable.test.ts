/** Waiting for durability by looking at the word, and when it is slept instead. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ManualClock } from '../../src/base/clock.ts';
import type { LaneWords } from '../../src/ring/lane-words.ts';
import type { WaitDurable } from '../../src/stream/durability.ts';
import { lookBeforeWaiting } from '../../src/stream/look-durable.ts';

/** The words of a lane, and whoever sleeps until they change. */
class Words {
  failed = false;
  durable = 0;
  sleepers: (() => void)[] = [];

  durableBlocks(): number {
    return this.durable;
  }

  waitDurable(seen: number): Promise<void> | undefined {
    if (this.durable > seen) return undefined;
    return new Promise((resolve) => this.sleepers.push(resolve));
  }

  publish(): void {
    this.durable += 1;
    for (const wake of this.sleepers.splice(0)) wake();
  }
}

let clock: ManualClock;
let words: Words;
let hasProcessor: boolean;
let wait: WaitDurable;

beforeEach(() => {
  clock = new ManualClock();
  words = new Words();
  hasProcessor = true;
  wait = lookBeforeWaiting(clock, () => hasProcessor);
});

function begin(): { readonly over: Promise<unknown>; isOver: boolean } {
  const state = { over: Promise.resolve<unknown>(undefined), isOver: false };
  const waiting = wait(words as unknown as LaneWords, words.durable) ?? Promise.resolve();
  state.over = waiting.then(() => {
    state.isOver = true;
  });
  return state;
}

async function waitFor(milliseconds: number): Promise<void> {
  const { over } = begin();
  clock.advance(milliseconds);
  words.publish();
  await over;
}

test('the first wait sleeps, and so does one after a long wait', async () => {
  begin();
  assert.equal(words.sleepers.length, 1);
  words.publish();
  await waitFor(1);
  begin();
  assert.equal(words.sleepers.length, 1);
});

test('after a short wait the word is looked at, and what was published meanwhile is seen without a wake-up', async () => {
  await waitFor(0.1);
  const looking = begin();
  await turn();
  assert.deepEqual([words.sleepers.length, looking.isOver], [0, false]);
  words.durable += 1;
  await looking.over;
});

test('what is durable by the time of the call is not waited for', async () => {
  await waitFor(0.1);
  words.durable += 1;
  assert.equal(wait(words as unknown as LaneWords, 0), undefined);
});

test('a failure ends the looking', async () => {
  await waitFor(0.1);
  const looking = begin();
  words.failed = true;
  await looking.over;
});

for (const [why, stop] of [
  ['a wait becomes long', () => clock.advance(1)],
  ['a processor is needed', () => (hasProcessor = false)],
] as const) {
  test(`who looks goes to sleep when ${why}, and is woken`, async () => {
    await waitFor(0.1);
    const looking = begin();
    stop();
    while (words.sleepers.length === 0) await turn();
    assert.equal(looking.isOver, false);
    words.publish();
    await looking.over;
  });
}

test('nobody looks while a processor is needed', async () => {
  await waitFor(0.1);
  hasProcessor = false;
  begin();
  assert.equal(words.sleepers.length, 1);
});
