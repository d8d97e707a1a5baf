/** Publishers: each record is in the log once, however often it is sent and whatever happens to the process. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import type { Published, Store } from '../../src/index.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { coded, openStore, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';
import { PUBLISHERS, valueOf } from './published-values.ts';

function published(ids: readonly number[]): { publishingId: number; value: string }[] {
  return ids.map((publishingId) => ({ publishingId, value: `${publishingId}` }));
}

function summary(answers: readonly Published[]): (number | undefined | string)[] {
  return answers.map(({ offset, duplicate }) => (duplicate ? `duplicate of ${String(offset)}` : offset));
}

test('an id at or below the last one is a duplicate, and appends nothing', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const publisher = stream.publisher('p');
  assert.equal(await publisher.lastPublishingId(), undefined);
  assert.deepEqual(await publisher.append(5, 'five'), { offset: 0, duplicate: false });
  assert.deepEqual(await publisher.append(5, 'five again'), { offset: 0, duplicate: true });
  assert.deepEqual(await publisher.append(3, 'late'), { offset: undefined, duplicate: true });
  assert.deepEqual(await publisher.append(9, 'nine'), { offset: 1, duplicate: false });
  assert.equal(await publisher.lastPublishingId(), 9);
  assert.deepEqual(await texts(stream.read()), ['five', 'nine']);
});

test('duplicates within one call are found too', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const publisher = stream.publisher('p');
  const first = await publisher.appendMany(published([1, 2, 2, 1, 3]));
  assert.deepEqual(summary(first), [0, 1, 'duplicate of undefined', 'duplicate of undefined', 2]);
  const second = await publisher.appendMany(published([2, 3, 4, 4]));
  assert.deepEqual(summary(second), ['duplicate of undefined', 'duplicate of undefined', 3, 'duplicate of 3']);
  assert.deepEqual(summary(await publisher.appendMany([])), []);
  assert.deepEqual(await texts(stream.read()), ['1', '2', '3', '4']);
});

test('publishers of a stream, and those of one name in several streams, know nothing of each other', async (t) => {
  const store = await openStore(t);
  const [a, b] = [await store.stream('a'), await store.stream('b')];
  for (const stream of [a, b]) {
    for (const name of ['p', 'q']) assert.equal((await stream.publisher(name).append(1, name)).duplicate, false);
    assert.deepEqual(await texts(stream.read()), ['p', 'q']);
  }
  assert.equal(a.publisher('p'), a.publisher('p'));
});

test('id 0 is an id, and ids up to 2^53 - 1 are', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const publisher = stream.publisher('p');
  assert.equal((await publisher.append(0, 'x')).duplicate, false);
  assert.equal((await publisher.append(0, 'x')).duplicate, true);
  assert.equal((await publisher.append(Number.MAX_SAFE_INTEGER, 'x')).duplicate, false);
  assert.equal((await publisher.append(Number.MAX_SAFE_INTEGER, 'x')).duplicate, true);
});

for (const id of [-1, 0.5, NaN, 2 ** 53, '7' as unknown as number, undefined as unknown as number]) {
  test(`publishing id ${String(id)} (${typeof id}) is refused, and nothing of its call is appended`, async (t) => {
    const stream = await (await openStore(t)).stream('a');
    const publisher = stream.publisher('p');
    await assert.rejects(publisher.append(id, 'x'), coded('ERR_MILLRACE_INVALID_ARGUMENT', String(id)));
    const batch = [
      { publishingId: 1, value: 'x' },
      { publishingId: id, value: 'y' },
    ];
    await assert.rejects(publisher.appendMany(batch), coded('ERR_MILLRACE_INVALID_ARGUMENT'));
    assert.equal((await stream.info()).nextOffset, 0);
    assert.equal((await publisher.append(1, 'x')).duplicate, false);
  });
}

test('a duplicate is answered after its original, in the same tick or later', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const publisher = stream.publisher('p');
  const order: string[] = [];
  const note = (what: string) => (): void => {
    order.push(what);
  };
  const original = publisher.append(1, 'x').then(note('original'));
  const duplicate = publisher.append(1, 'x').then(note('duplicate'));
  await new Promise(setImmediate);
  const later = publisher.append(1, 'x').then(note('later'));
  await Promise.all([original, duplicate, later]);
  assert.equal(order[0], 'original');
  assert.equal((await stream.info()).durableOffset, 1);
});

test('a record that is refused can be sent again under its id', async (t) => {
  const store = await openStore(t, { maxRecordBytes: 1_000 });
  const stream = await store.stream('a');
  const publisher = stream.publisher('p');
  await assert.rejects(publisher.append(1, Buffer.alloc(2_000)), coded('ERR_MILLRACE_RECORD_TOO_LARGE'));
  assert.equal(await publisher.lastPublishingId(), undefined);
  assert.deepEqual(await publisher.append(1, 'shorter'), { offset: 0, duplicate: false });
});

test('when the queue is full some are refused; sent again, each is there once and in order', async (t) => {
  const store = await openStore(t, { wal: { ...SMALL_WAL, maxQueuedBytes: 20_000 } });
  const stream = await store.stream('a');
  const publisher = stream.publisher('p');
  const value = (id: number): string => `${id}`.padEnd(3_000, '.');
  // More than the ring and the queue hold, all at once: the first record finds no room, however quick the flushes are.
  const other = await store.stream('other');
  const filling = Promise.allSettled(Array.from({ length: 60 }, () => other.append(value(0))));
  let refused = 0;
  for (let id = 0; id < 300; id += 1) {
    for (;;) {
      const sent = publisher.append(id, value(id));
      // Nobody waits for an answer: only a refusal, which comes at once, makes the publisher pause.
      const underWay = nextTurn(undefined);
      const failure = await Promise.race([
        sent.then(
          () => undefined,
          (error: unknown) => error,
        ),
        underWay,
      ]);
      if (failure === undefined) break;
      coded('ERR_MILLRACE_QUEUE_FULL')(failure);
      refused += 1;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  const last = await publisher.append(299, value(299));
  assert.equal(last.duplicate, true);
  assert.deepEqual(
    (await texts(stream.read())).map((text) => Number.parseInt(text ?? '', 10)),
    Array.from({ length: 300 }, (_, id) => id),
  );
  await filling;
  assert.ok(refused > 0, 'the queue was full at times');
});

test('publishers that publish at the same time while slots roll keep their own order and lose nothing', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open({ wal: { ...SMALL_WAL, slots: 3 } });
  const random = new SeededRandom(7);
  const publish = async (name: string): Promise<void> => {
    const publisher = (await store.stream('a')).publisher(name);
    for (let next = 1; next <= 400;) {
      const count = Math.min(1 + random.below(30), 401 - next);
      const ids = Array.from({ length: count }, (_, index) => next + index);
      const again = random.below(2) === 0 ? publisher.appendMany(published(ids)) : undefined;
      await Promise.all([publisher.appendMany(published(ids)), again]);
      next += count;
    }
  };
  const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
  await Promise.all(names.map(publish));
  const check = async (): Promise<void> => {
    const stream = await store.stream('a');
    assert.equal((await stream.info()).records, 8 * 400);
    for (const name of names) assert.equal(await stream.publisher(name).lastPublishingId(), 400);
  };
  await check();
  await store.close();
  store = await folder.open();
  await check();
  await store.compact({ force: true });
  await Promise.all(names.map(publish));
  await check();
});

test('publishers of more streams than a slot has room for survive openings from the log and from segments', async (t) => {
  const folder = new StoreFolder(t);
  for (let round = 1; round <= 3; round += 1) {
    const store = await folder.open();
    for (let index = 0; index < 20; index += 1) {
      const publisher = (await store.stream(`s${index}`)).publisher('p');
      const last = await publisher.lastPublishingId();
      assert.equal(last, round === 1 ? undefined : round - 1);
      await publisher.append(round, 'x');
      assert.equal((await publisher.append(round, 'x')).duplicate, true);
    }
    if (round === 2) await store.flush();
    await store.close();
  }
});

/**
 * Starts the publishing process, and kills it after some answers; returns the highest id answered for each publisher.
 */
async function publishUntilKilled(
  dir: string,
  seed: number,
  highest: number,
  answers: number,
): Promise<Map<string, number>> {
  const script = fileURLToPath(new URL('publisher-process.js', import.meta.url));
  const child = spawn(process.execPath, [script, dir, `${seed}`, `${highest}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const answered = new Map<string, number>();
  let lines = 0;
  let rest = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    const complete = (rest + text).split('\n');
    rest = complete.pop() ?? '';
    for (const line of complete) {
      lines += 1;
      const [name = '', id = ''] = line.split(' ');
      if (Number(id) > 0) answered.set(name, Math.max(answered.get(name) ?? 0, Number(id)));
      if (line === 'all sent' || lines === answers) child.kill('SIGKILL');
    }
  });
  await once(child, 'close');
  return answered;
}

async function checkPublished(store: Store, answered: ReadonlyMap<string, number>): Promise<void> {
  const stream = await store.stream('a');
  const found = new Map<string, string[]>(PUBLISHERS.map((name) => [name, []]));
  for await (const { value } of stream.read()) {
    const text = String(value);
    found.get(text.split(':')[0] ?? '')?.push(text);
  }
  for (const [name, values] of found) {
    assert.deepEqual(
      values,
      values.map((_, index) => valueOf(name, index + 1)),
      'each once, in order, without a gap',
    );
    assert.ok(values.length >= (answered.get(name) ?? 0), 'what was answered is there');
    const last = await stream.publisher(name).lastPublishingId();
    assert.equal(last ?? 0, values.length, 'the mark is that of the last record in the log');
  }
}

test('a publisher that resends everything after each kill -9 leaves each record once', async (t) => {
  const folder = new StoreFolder(t);
  const random = new SeededRandom(11);
  const answered = new Map<string, number>();
  for (let round = 0; round < 6; round += 1) {
    const answers = round === 5 ? Infinity : 1 + random.below(250);
    const more = await publishUntilKilled(folder.dir, round, 1_500, answers);
    for (const [name, id] of more) answered.set(name, Math.max(id, answered.get(name) ?? 0));
    const store = await folder.open();
    await checkPublished(store, answered);
    if (round === 3) await store.compact({ force: true });
    await store.close();
  }
  const store = await folder.open();
  await checkPublished(store, new Map(PUBLISHERS.map((name) => [name, 1_500])));
  assert.deepEqual((await store.verify()).problems, []);
});
