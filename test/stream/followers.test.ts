import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Follower, Followers } from '../../src/stream/followers.ts';
import { attachProducer, type Store, type Stream } from '../../src/index.ts';
import { openStore, StoreFolder } from '../support/test-store.ts';

/** Follows the stream, and keeps what it gets. */
function following(stream: Stream): {
  readonly values: string[];
  readonly ended: Promise<void>;
  readonly stop: () => void;
} {
  const stop = new AbortController();
  const values: string[] = [];
  const follow = async (): Promise<void> => {
    for await (const { value } of stream.read({ follow: true, signal: stop.signal })) values.push(String(value));
  };
  const ended = assert.rejects(follow(), { code: 'ERR_MILLRACE_ABORTED' });
  return { values, ended, stop: () => stop.abort() };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(1);
}

function lookups(store: Store): number {
  return store.stats().coordinator['findRuns']?.durations.count ?? 0;
}

test('whoever waits at the end of a quiet stream is not woken by what others get', async (t) => {
  const store = await openStore(t);
  const quiet = await store.stream('quiet');
  await quiet.append('first');
  const followers = Array.from({ length: 20 }, () => following(quiet));
  await until(() => followers.every(({ values }) => values.length === 1));
  const busy = await store.stream('busy');
  const before = lookups(store);
  for (let index = 0; index < 50; index += 1) await busy.append('x');
  for await (const batch of busy.readBatches({ limit: 10 })) assert.equal(batch.length, 10);
  assert.ok(lookups(store) - before < followers.length, 'no follower has looked');
  await quiet.append('second');
  await until(() => followers.every(({ values }) => values.length === 2));
  for (const { stop } of followers) stop();
  await Promise.all(followers.map(({ ended }) => ended));
});

test('a follower gets what was on its way to the disk when it began to wait', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  for (let index = 0; index < 100; index += 1) {
    const appended = stream.append(`${index}`);
    const follower = following(stream);
    await appended;
    await until(() => follower.values.length === index + 1);
    follower.stop();
    await follower.ended;
  }
});

test('a follower stays with its stream while a producer has it, and when it is given back', async (t) => {
  const store = await new StoreFolder(t).open();
  const stream = await store.stream('a');
  const { values, stop, ended } = following(stream);
  const producer = await attachProducer(await store.producer());
  const expected: string[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const append = async (to: Pick<Stream, 'append'>, who: string): Promise<void> => {
      for (let index = 0; index < 10; index += 1) {
        expected.push(`${who} ${turn} ${index}`);
        await to.append(expected.at(-1) as string);
        await until(() => values.length === expected.length);
      }
    };
    await append(stream, 'store');
    const held = await producer.stream('a');
    await append(held, 'producer');
    await held.release();
  }
  assert.deepEqual(values, expected);
  stop();
  await ended;
  await producer.close();
});

test('a follower that was woken since it looked does not sleep', async () => {
  const follower = new Follower();
  follower.look();
  follower.wake();
  await follower.sleep();
  follower.look();
  let slept = false;
  const sleeping = follower.sleep().then(() => {
    slept = true;
  });
  await sleep(0);
  assert.equal(slept, false);
  follower.wake();
  await sleeping;
});

test('followers are woken by stream, or all of them, until they leave', () => {
  const followers = new Followers();
  const woken: string[] = [];
  const make = (name: string): Follower => Object.assign(new Follower(), { wake: () => woken.push(name) });
  const [first, second, other] = [make('first'), make('second'), make('other')];
  followers.add(1, first);
  followers.add(1, second);
  followers.add(2, other);
  followers.wake(1);
  followers.wake(3);
  assert.deepEqual(woken.splice(0), ['first', 'second']);
  followers.wakeAll();
  assert.deepEqual(woken.splice(0), ['first', 'second', 'other']);
  followers.remove(1, first);
  followers.wake(1);
  assert.deepEqual(woken.splice(0), ['second']);
  followers.remove(1, second);
  followers.remove(1, second);
  assert.deepEqual([followers.size, followers.has(1), followers.has(2)], [1, false, true]);
});
