/** Retention: what is kept, when it goes, and what readers see of it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { open, type Retention, type Store, type Stream } from '../../src/index.ts';
import { until } from '../support/child-processes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { coded, collect, numbered, openStore, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

const HOUR = 3_600_000;

async function firstOffset(stream: Stream): Promise<number> {
  return (await stream.info()).firstOffset;
}

/** Runs of ten records of 100 bytes each. */
async function fill(store: Store, stream: Stream, runs: number, timestamp?: number): Promise<void> {
  for (let run = 0; run < runs; run += 1) {
    await stream.appendMany(
      Array.from({ length: 10 }, () => ({
        value: Buffer.alloc(100),
        ...(timestamp === undefined ? {} : { timestamp: timestamp + run }),
      })),
    );
    await store.flush();
  }
}

test('by bytes: every flush lets go the runs that the rest does not need to hold the limit', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a', { retention: { maxBytes: 2_500 } });
  await fill(store, stream, 7);
  // Three runs hold 3,000 bytes, and two would hold less than the limit.
  await until('four runs are gone', async () => (await firstOffset(stream)) === 40);
  const { records, userBytes, firstOffset: first, nextOffset } = await stream.info();
  assert.deepEqual([first, nextOffset, records, userBytes], [40, 70, 30, 3_000]);
  await fill(store, stream, 1);
  await until('and one more', async () => (await firstOffset(stream)) === 50);
});

test('only user bytes count: tracking pushes nothing out, however much there is', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a', { retention: { maxBytes: 5_000 } });
  await fill(store, stream, 4);
  for (let round = 0; round < 20; round += 1) {
    for (let reference = 0; reference < 100; reference += 1) {
      await stream.storeOffset(`a consumer with a long name ${reference}`, 30 + (round % 10));
    }
    await store.flush();
  }
  const { trackingBytes } = await stream.info();
  assert.ok(trackingBytes > 5_000, `${trackingBytes} bytes of tracking`);
  await store.compact();
  const { records, userBytes } = await stream.info();
  assert.deepEqual([records, userBytes], [40, 4_000]);
  assert.equal((await stream.offsets()).length, 100);
});

test('by age: what is older goes on demand, though nothing is written any more', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await fill(store, stream, 3, Date.now() - 2 * HOUR);
  await fill(store, stream, 2);
  await stream.configure({ retention: { maxAge: HOUR } });
  assert.equal(await firstOffset(stream), 0);
  await store.compact();
  assert.equal(await firstOffset(stream), 30);
});

test('an idle stream ages to its end, and its bytes go whatever tracking lies beside them', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const stream = await store.stream('a');
  await fill(store, stream, 2, Date.now() - 2 * HOUR);
  await stream.publisher('sensor').append(7, 'last', { timestamp: Date.now() - HOUR });
  await stream.storeOffset('reader', 20, { durable: true });
  await store.flush();
  await stream.configure({ retention: { maxAge: HOUR / 2 } });
  await store.compact();
  const { firstOffset: first, nextOffset, records } = await stream.info();
  assert.deepEqual([first, nextOffset, records], [21, 21, 0]);
  assert.deepEqual(await stream.offsets(), []);
  // Nobody writes any more: what it takes to set the records free, the store writes itself.
  await store.flush();
  assert.equal((await stream.info()).heldBytes, 0);
  await store.close();
  const again = await (await folder.open()).stream('a');
  assert.equal((await again.publisher('sensor').append(7, 'again')).duplicate, true);
  assert.deepEqual(await collect(again.read()), []);
  assert.equal(await again.append('later'), 21);
});

test('records that an earlier process left held go once their stream is opened again', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await store.stream('a', { retention: { maxAge: HOUR } });
  await fill(store, stream, 1, Date.now() - 2 * HOUR);
  await stream.publisher('sensor').append(7, 'last', { timestamp: Date.now() - 2 * HOUR });
  await store.close();
  // Trims without opening the stream: who publishes there is not known.
  store = await folder.open();
  await store.compact();
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  assert.equal(await firstOffset(stream), 11);
  await store.flush();
  assert.equal((await stream.info()).heldBytes, 0);
  assert.equal(await stream.publisher('sensor').lastPublishingId(), 7);
});

test('limits smaller than a single record keep the newest run, and end', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a', { retention: { maxBytes: 1 } });
  for (let round = 0; round < 5; round += 1) {
    await stream.append(Buffer.alloc(40_000, `${round}`));
    await store.compact();
  }
  await store.flush();
  await store.compact();
  assert.deepEqual(await texts(stream.read()), [Buffer.alloc(40_000, '4').toString()]);
});

for (const retention of [
  { maxBytes: 0 },
  { maxAge: 0 },
  { maxBytes: -1 },
  { maxAge: 1.5 },
  { maxBytes: NaN },
  { maxBytes: Infinity },
]) {
  test(`a limit of ${JSON.stringify(retention)} is refused by name, and the stream keeps its own`, async (t) => {
    const store = await openStore(t);
    const stream = await store.stream('a', { retention: { maxBytes: 5 } });
    const [name = ''] = Object.keys(retention);
    await assert.rejects(stream.configure({ retention }), coded('ERR_MILLRACE_INVALID_ARGUMENT', `retention.${name}`));
    await assert.rejects(store.stream('b', { retention }), coded('ERR_MILLRACE_INVALID_ARGUMENT', `retention.${name}`));
    assert.deepEqual(stream.config.retention, { maxBytes: 5 });
  });
}

test('limits can be changed and lifted, and survive openings', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await store.stream('a', { retention: { maxBytes: 100, maxAge: HOUR } });
  await stream.configure({ retention: { maxAge: 5 } });
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  assert.deepEqual(stream.config.retention, { maxAge: 5 });
  await stream.configure({ retention: {} });
  await fill(store, stream, 3, 1_000);
  await store.compact();
  assert.equal(await firstOffset(stream), 0);
});

test('a stream of tracking alone neither stops retention nor loses its tracking', async (t) => {
  const store = await openStore(t);
  const options = { retention: { maxBytes: 1, maxAge: HOUR } };
  const empty = await store.stream('empty', options);
  const full = await store.stream('full', options);
  await empty.append('x');
  await empty.storeOffset('a', 0);
  await empty.truncate({ after: -1 });
  await fill(store, full, 3, 1_000);
  await empty.append('y');
  for (let round = 0; round < 3; round += 1) {
    await empty.storeOffset('a', 0, { durable: true });
    await store.compact();
    await store.flush();
  }
  assert.equal(await firstOffset(full), 30);
  assert.equal(await empty.queryOffset('a'), 0);
});

test('references that retention overtakes go, and so does what lay beside them', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a', { retention: { maxBytes: 1_000 } });
  await fill(store, stream, 1);
  await stream.storeOffset('slow', 3);
  await stream.storeOffset('fast', 9);
  await fill(store, stream, 3);
  await stream.storeOffset('fast', 35);
  await store.compact();
  assert.deepEqual(
    (await stream.offsets()).map(({ reference }) => reference),
    ['fast'],
  );
  await fill(store, stream, 1);
  await store.compact();
  assert.equal((await stream.info()).heldBytes, 0);
});

test('a reader that retention overtakes gets an error, or goes on at the first record left and is told of the gap', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await fill(store, stream, 6);
  const gaps: [number, number][] = [];
  const strict = stream.readBatches();
  const lenient = stream.readBatches({ onTrimmed: 'skip', skipped: (from, to) => gaps.push([from, to]) });
  for (const reader of [strict, lenient]) assert.equal((await reader.next()).done, false);
  await stream.configure({ retention: { maxBytes: 2_000 } });
  await store.compact();
  assert.equal(await firstOffset(stream), 40);
  await assert.rejects(collect(stream.read({ from: 10 })), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', '40'));
  const skipped: [number, number][] = [];
  const read = stream.read({ from: 10, onTrimmed: 'skip', skipped: (from, to) => skipped.push([from, to]) });
  assert.equal((await collect(read))[0]?.offset, 40);
  assert.deepEqual(skipped, [[10, 40]]);
  let next = 10;
  for await (const batch of lenient) {
    const [from, to] = gaps.at(-1) ?? [next, next];
    assert.ok(batch.firstOffset === next || (from === next && batch.firstOffset === to));
    next = batch.nextOffset;
  }
  assert.equal(next, 60);
  await collect(strict).catch(coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
});

test('a follower that sleeps while retention passes it is told where it goes on', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a', { retention: { maxBytes: 1_000 } });
  await fill(store, stream, 1);
  const gaps: [number, number][] = [];
  const follower = stream.readBatches({
    follow: true,
    onTrimmed: 'skip',
    skipped: (from, to) => gaps.push([from, to]),
  });
  await follower.next();
  await fill(store, stream, 5);
  await store.compact();
  assert.equal(await firstOffset(stream), 50);
  const next = await follower.next();
  assert.equal(next.done === true ? -1 : next.value.firstOffset, 50);
  assert.deepEqual(gaps, [[10, 50]]);
  await follower.return(undefined);
});

test('info counts exactly after any mixture of appends, flushes, trims and limits', async () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant('append' as const),
      count: fc.integer({ min: 1, max: 20 }),
      bytes: fc.nat({ max: 3_000 }),
    }),
    fc.record({ do: fc.constant('trim' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({
      do: fc.constant('limit' as const),
      retention: fc.constantFrom<Retention>({}, { maxBytes: 1 }, { maxBytes: 20_000 }, { maxAge: HOUR }),
    }),
    fc.constantFrom({ do: 'flush' as const }, { do: 'compact' as const }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const directory = temporaryDirectory();
      const wal = { ...SMALL_WAL, slots: 4 };
      const store = await open({ dir: join(directory.path, 'store'), wal, compaction: false });
      try {
        const stream = await store.stream('a');
        const bytes: number[] = [];
        for (const move of steps) {
          if (move.do === 'append') {
            await stream.appendMany(Array.from({ length: move.count }, () => Buffer.alloc(move.bytes)));
            for (let index = 0; index < move.count; index += 1) bytes.push(move.bytes);
          } else if (move.do === 'trim') await stream.trim(Math.floor(move.share * bytes.length));
          else if (move.do === 'limit') await stream.configure({ retention: move.retention });
          else if (move.do === 'flush') await store.flush();
          else await store.compact({ force: true });
          const { firstOffset: first, nextOffset, records, userBytes } = await stream.info();
          assert.equal(nextOffset, bytes.length);
          assert.equal(records, nextOffset - first);
          assert.equal((await collect(stream.read({ onTrimmed: 'skip' }))).length, (await stream.info()).records);
          const kept = bytes.slice(first).reduce((sum, size) => sum + size, 0);
          assert.ok(userBytes >= kept, 'of a run that is cut, all bytes count');
        }
      } finally {
        await store.close();
        directory.remove();
      }
    }),
    { numRuns: 15 },
  );
});

test('texts of a trimmed stream start where it does', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.appendMany(numbered(5));
  await stream.trim(2);
  await stream.trim(1);
  assert.deepEqual(await texts(stream.read()), numbered(3, 'record ', 2));
  await stream.trim(5);
  assert.deepEqual(await texts(stream.read()), []);
  assert.equal(await stream.get(4), undefined);
  assert.equal((await stream.info()).records, 0);
});

for (const before of [6, -1, 0.5, NaN]) {
  test(`a trim before ${before} is refused, and trims nothing`, async (t) => {
    const store = await openStore(t);
    const stream = await store.stream('a');
    await stream.appendMany(numbered(5));
    await assert.rejects(stream.trim(before), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', String(before)));
    assert.equal((await stream.info()).records, 5);
  });
}
