/** What `info()` says is exact at every moment, whatever is being flushed, trimmed or appended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import type { StreamDescription } from '../../src/record/stream-config.ts';
import type { SegmentAccess } from '../../src/stream/segment-access.ts';
import { streamInfo } from '../../src/stream/stream-info.ts';
import { numbered, openStore, SMALL_WAL, StoreFolder } from '../support/test-store.ts';

test('records and user bytes are those of the durable records while slots flush underneath', async (t) => {
  const store = await openStore(t, { wal: { ...SMALL_WAL, slots: 4 } });
  const stream = await store.stream('a');
  const other = await store.stream('other');
  let done = false;
  let asked = 0;
  const observer = async (): Promise<void> => {
    while (!done) {
      const { firstOffset, durableOffset, nextOffset, records, userBytes } = await stream.info();
      assert.equal(firstOffset, 0);
      assert.equal(records, durableOffset);
      assert.equal(userBytes, records * 10);
      assert.ok(durableOffset <= nextOffset);
      asked += 1;
      if (asked % 16 === 0) await new Promise(setImmediate);
    }
  };
  const observers = [observer(), observer(), observer()];
  const value = Buffer.alloc(8);
  for (let round = 0; round < 150; round += 1) {
    await Promise.all([
      stream.append(value, { key: 'kk' }),
      other.append(Buffer.alloc(7_000)),
      stream.appendMany([{ value, key: 'kk' }, Buffer.alloc(10)]),
    ]);
  }
  done = true;
  await Promise.all(observers);
  assert.ok(asked > 100);
  assert.ok((store.stats().flush?.segments ?? 0) > 5);
});

test('consumer offsets and publishers count neither as records nor as user bytes', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  for (let round = 1; round <= 3; round += 1) {
    const stream = await store.stream('a');
    const publisher = stream.publisher('p');
    for (let index = 0; index < 10; index += 1) {
      await stream.append('12345');
      await publisher.append(100 * round + index, '12345');
      await stream.storeOffset(`consumer ${index}`, index, { durable: true });
    }
    const check = async (): Promise<void> => {
      const { records, userBytes, nextOffset, durableOffset } = await (await store.stream('a')).info();
      const count = 20 * round;
      assert.deepEqual(
        { records, userBytes, nextOffset, durableOffset },
        { records: count, userBytes: 5 * count, nextOffset: count, durableOffset: count },
      );
    };
    await check();
    await store.flush();
    await check();
    await store.close();
    store = await folder.open();
    await check();
  }
  assert.ok((await (await store.stream('a')).info()).trackingBytes > 0);
});

test('after a trim the records left are counted, wherever the cut lies', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  for (let round = 0; round < 4; round += 1) {
    await stream.appendMany(numbered(25, 'record ', 25 * round));
    if (round < 3) await store.flush();
  }
  for (const before of [0, 10, 25, 26, 74, 75, 90, 100]) {
    await stream.trim(before);
    const { firstOffset, records, nextOffset } = await stream.info();
    assert.deepEqual(
      { firstOffset, records, nextOffset },
      { firstOffset: before, records: 100 - before, nextOffset: 100 },
    );
  }
});

test('segments, stored bytes and timestamps tell where the records are', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.append('x'.repeat(1_000), { timestamp: 500 });
  const inMemory = await stream.info();
  assert.deepEqual([inMemory.segments, inMemory.storedBytes, inMemory.firstTimestamp], [0, 0, undefined]);
  await store.flush();
  await stream.append('x', { timestamp: 700 });
  await store.flush();
  const flushed = await stream.info();
  assert.deepEqual([flushed.segments, flushed.firstTimestamp, flushed.lastTimestamp], [2, 500, 700]);
  assert.ok(flushed.storedBytes > 0);
});

test('what changes while it counts is in all of the answer or in none of it', async () => {
  const run = (firstOffset: number, records: number): unknown => ({
    firstOffset,
    nextOffset: firstOffset + 10,
    endOffset: firstOffset + 10,
    records,
    userBytes: records,
  });
  let totals = { firstOffset: 5, nextOffset: 20, epoch: 0, records: 14, userBytes: 14 };
  const assigned = { nextOffset: 20, epoch: 0 };
  let looks = 0;
  const coordinator = {
    streamTotals: () => Promise.resolve(totals),
    findRuns: async () => {
      looks += 1;
      // The log start passes the run that has gaps, and the stream is truncated.
      if (looks > 1) return { runs: [run(10, 10)] };
      totals = { ...totals, firstOffset: 10, records: 10, userBytes: 10 };
      Object.assign(assigned, { nextOffset: 15, epoch: 1 });
      return { runs: [run(10, 10)] };
    },
  } as unknown as Coordinator;
  const source = {
    coordinator,
    segments: undefined as unknown as SegmentAccess,
    durableNextOffset: () => assigned.nextOffset,
    unflushedTotals: () => ({ records: 0, userBytes: 0, voidFrom: assigned.epoch > 0 ? 15 : Infinity }),
  };
  const description = { streamId: 1, name: 'a' } as StreamDescription;
  const { firstOffset, nextOffset, durableOffset, records, epoch } = await streamInfo(source, description, assigned);
  assert.deepEqual(
    { firstOffset, nextOffset, durableOffset, records, epoch },
    { firstOffset: 10, nextOffset: 15, durableOffset: 15, records: 5, epoch: 1 },
  );
});
