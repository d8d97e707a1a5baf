/** Consumer offsets as users store, list and lose them: in a real store, across flushes and openings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store, Stream } from '../../src/index.ts';
import { until } from '../support/child-processes.ts';
import { coded, collect, numbered, openStore, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

async function filled(store: Store, records: number, name = 'a'): Promise<Stream> {
  const stream = await store.stream(name);
  await stream.appendMany(numbered(records));
  return stream;
}

test('the last offset stored is the one that is found, forwards or backwards', async (t) => {
  const stream = await filled(await openStore(t), 10);
  assert.equal(await stream.queryOffset('billing'), undefined);
  for (const offset of [3, 9, 0, 4]) {
    await stream.storeOffset('billing', offset);
    assert.equal(await stream.queryOffset('billing'), offset);
  }
});

test('offsets are listed by reference, with the records that are still to come', async (t) => {
  const store = await openStore(t);
  const stream = await filled(store, 10);
  assert.deepEqual(await stream.offsets(), []);
  await stream.storeOffset('b', 9);
  await stream.storeOffset('a', 4);
  await stream.storeOffset('\u00e9', 0, { durable: true });
  const expected = [
    { reference: 'a', offset: 4, lag: 5 },
    { reference: 'b', offset: 9, lag: 0 },
    { reference: '\u00e9', offset: 0, lag: 9 },
  ];
  assert.deepEqual(await stream.offsets(), expected);
  await store.flush();
  assert.deepEqual(await stream.offsets(), expected);
});

test('a deleted reference is gone, and deleting it again says so', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await filled(store, 3);
  await stream.storeOffset('a', 1, { durable: true });
  assert.equal(await stream.deleteOffset('a'), true);
  assert.equal(await stream.deleteOffset('a'), false);
  assert.equal(await stream.queryOffset('a'), undefined);
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  assert.deepEqual(await stream.offsets(), []);
});

test('stored offsets survive flushes and openings, whether they were flushed alone or beside records', async (t) => {
  const folder = new StoreFolder(t);
  const expected = new Map<string, number>();
  for (let round = 0; round < 6; round += 1) {
    const store = await folder.open();
    const stream = await store.stream('a');
    for (const [reference, offset] of expected) assert.equal(await stream.queryOffset(reference), offset);
    if (round % 2 === 0) await stream.appendMany(numbered(5));
    for (const reference of [`only in round ${round}`, 'in every round']) {
      const offset = ((await stream.info()).nextOffset + round) % 3;
      await stream.storeOffset(reference, offset, { durable: round % 3 === 0 });
      expected.set(reference, offset);
    }
    if (round % 2 === 1) await store.flush();
    await store.close();
  }
  const store = await folder.open({ readOnly: true });
  const stream = await store.stream('a');
  const found = (await stream.offsets()).map(({ reference, offset }) => [reference, offset] as const);
  assert.deepEqual(new Map(found), expected);
  for (const [reference, offset] of expected) assert.equal(await stream.queryOffset(reference), offset);
  assert.equal(await stream.queryOffset('nobody'), undefined);
});

test('a reader starts behind the offset stored for its reference, or at the first record without one', async (t) => {
  const store = await openStore(t);
  const stream = await filled(store, 6);
  await stream.storeOffset('half', 2);
  await stream.storeOffset('done', 5);
  assert.deepEqual(await texts(stream.read({ from: { reference: 'half' } })), numbered(3, 'record ', 3));
  assert.deepEqual(await texts(stream.read({ from: { reference: 'done' } })), []);
  assert.deepEqual(await texts(stream.read({ from: { reference: 'new' } })), numbered(6));
  await store.flush();
  await stream.trim(4);
  assert.deepEqual(await texts(stream.read({ from: { reference: 'half' } })), numbered(2, 'record ', 4));
});

test('tracking consumes no offset, counts as no record, and is no record to a reader', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  for (let round = 0; round < 5; round += 1) {
    assert.equal(await stream.append(`record ${round}`), round);
    await stream.storeOffset('a', round, { durable: true });
    if (round === 2) await store.flush();
  }
  assert.deepEqual(await texts(stream.read()), numbered(5));
  assert.equal((await stream.info()).records, 5);
});

test('a stream that holds only tracking opens, flushes, trims and keeps its tracking', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await filled(store, 4);
  await stream.storeOffset('a', 3, { durable: true });
  await stream.truncate({ after: -1 });
  for (let round = 0; round < 4; round += 1) {
    assert.deepEqual(await stream.offsets(), []);
    const { records, nextOffset } = await stream.info();
    assert.deepEqual({ records, nextOffset }, { records: 0, nextOffset: 0 });
    await assert.rejects(stream.storeOffset('a', 0), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
    await stream.trim(0);
    await store.flush();
    assert.deepEqual(await collect(stream.read()), []);
    await store.close();
    store = await folder.open();
    stream = await store.stream('a', { retention: { maxBytes: 1, maxAge: 1 } });
  }
  // A millisecond is over at any time: the records, and with them the references, would go between two steps.
  await stream.configure({ retention: { maxBytes: 1 } });
  await stream.appendMany(numbered(2));
  await stream.storeOffset('b', 1);
  await store.flush();
  await stream.storeOffset('b', 0);
  for (let round = 0; round < 3; round += 1) {
    await stream.storeOffset('c', 1, { durable: true });
    await store.flush();
  }
  assert.deepEqual(
    (await stream.offsets()).map(({ reference }) => reference),
    ['b', 'c'],
  );
  assert.deepEqual((await store.verify()).problems, []);
});

for (const offset of [10, 11, Number.MAX_SAFE_INTEGER, -1, 0.5, NaN, Infinity, 2 ** 53]) {
  test(`offset ${offset} is refused, and what was stored stays`, async (t) => {
    const stream = await filled(await openStore(t), 10);
    await stream.storeOffset('a', 9);
    await assert.rejects(stream.storeOffset('a', offset), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', String(offset)));
    assert.equal(await stream.queryOffset('a'), 9);
  });
}

const REFUSED: readonly (readonly [string, unknown])[] = [
  ['256 bytes', 'x'.repeat(256)],
  ['256 bytes in 128 characters', '\u00e9'.repeat(128)],
  ['nothing', ''],
  ['a line break', 'a\nb'],
  ['a null character', 'a\0'],
  ['a C1 control character', 'a\u0085b'],
  ['half a surrogate pair', 'a\ud800'],
  ['a number', 7],
  ['undefined', undefined],
];
for (const [what, reference] of REFUSED) {
  test(`a reference of ${what} is refused everywhere`, async (t) => {
    const stream = await filled(await openStore(t), 1);
    const name = reference as string;
    const refused = coded('ERR_MILLRACE_INVALID_REFERENCE');
    await assert.rejects(stream.storeOffset(name, 0), refused);
    await assert.rejects(stream.queryOffset(name), refused);
    await assert.rejects(stream.deleteOffset(name), refused);
    assert.throws(() => stream.publisher(name), refused);
    await assert.rejects(collect(stream.read({ from: { reference: name } })), refused);
  });
}

test('references of 255 bytes and of any script are taken', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await filled(store, 1);
  const references = ['x'.repeat(255), '\u00e9'.repeat(127), '\u{1f33e}'.repeat(63), ' ', '__proto__', 'a/b\\c'];
  for (const reference of references) await stream.storeOffset(reference, 0);
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  assert.deepEqual((await stream.offsets()).map(({ reference }) => reference).sort(), [...references].sort());
});

test('10,000 references pass through a ring of small slots, and the next opening finds them all', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await filled(store, 100);
  for (let index = 0; index < 10_000; index += 1) await stream.storeOffset(`consumer number ${index}`, index % 100);
  await store.flush();
  for (let index = 0; index < 10_000; index += 1)
    await stream.storeOffset(`consumer number ${index}`, (index + 1) % 100);
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  const offsets = await stream.offsets();
  assert.equal(offsets.length, 10_000);
  for (const { reference, offset } of offsets) {
    assert.equal(offset, (Number(reference.slice('consumer number '.length)) + 1) % 100);
  }
});

test('references below the log start are evicted by a trim, for good', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await filled(store, 10);
  await stream.storeOffset('behind', 3, { durable: true });
  await stream.storeOffset('unwritten', 4);
  await stream.storeOffset('there', 5);
  await stream.trim(5);
  assert.deepEqual(
    (await stream.offsets()).map(({ reference }) => reference),
    ['there'],
  );
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  assert.deepEqual(
    (await stream.offsets()).map(({ reference }) => reference),
    ['there'],
  );
});

test('records below the log start do not stay for the tracking beside them', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.appendMany(Array.from({ length: 20 }, () => Buffer.alloc(2_000, 'x')));
  await stream.storeOffset('a', 19);
  await store.flush();
  await stream.appendMany(numbered(5));
  await store.flush();
  await stream.trim(20);
  assert.ok((await stream.info()).heldBytes > 0, 'the offset of consumer a lies beside the records');
  // The snapshot that sets them free needs no record of the stream beside it.
  await (await store.stream('b')).append('x');
  await store.flush();
  assert.equal((await stream.info()).heldBytes, 0);
  assert.equal(await stream.append('one more'), 25);
  await store.flush();
  assert.deepEqual((await store.verify()).problems, []);
});

test('what is stored without `durable` is in the log after the interval', async (t) => {
  const store = await openStore(t, { tracking: { maxInterval: 20 } });
  const stream = await filled(store, 2);
  await stream.storeOffset('a', 1);
  const bytes = async (): Promise<number> => store.stats().tracking?.bytes ?? 0;
  const before = await bytes();
  await until('a delta', async () => (await bytes()) > before);
  const { tracking } = store.stats();
  assert.equal(tracking?.deltas, 1);
  assert.equal(tracking.references, 1);
  assert.deepEqual(Object.keys(tracking.streams), ['a']);
});

test('a read-only store takes no offsets', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  await filled(store, 2);
  await store.close();
  const stream = await (await folder.open({ readOnly: true })).stream('a');
  const refused = coded('ERR_MILLRACE_READ_ONLY');
  await assert.rejects(stream.storeOffset('a', 0), refused);
  await assert.rejects(stream.deleteOffset('a'), refused);
  await assert.rejects(stream.publisher('p').append(1, 'x'), refused);
});

for (const tracking of [
  { budget: 0 },
  { budget: 1.5 },
  { budget: NaN },
  { maxInterval: 0 },
  { maxInterval: 1.5 },
  { interval: 5 } as object,
]) {
  test(`tracking options ${JSON.stringify(tracking)} are refused by name`, async (t) => {
    await assert.rejects(
      openStore(t, { tracking, wal: SMALL_WAL }),
      coded('ERR_MILLRACE_INVALID_ARGUMENT', 'tracking.'),
    );
  });
}
