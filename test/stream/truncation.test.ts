/** What truncations do to those who read, publish, consume and trim at the same time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordBatch, Store, Stream, StreamRecord } from '../../src/index.ts';
import { coded, collect, numbered, openStore, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

const truncatedError = coded('ERR_MILLRACE_STREAM_TRUNCATED', 'a');

/** A stream whose records lie in a run of their own for each flush. */
async function inRuns(store: Store, runs: readonly number[]): Promise<Stream> {
  const stream = await store.stream('a');
  for (const count of runs) {
    const { nextOffset } = await stream.info();
    await stream.appendMany(numbered(count, 'old ', nextOffset));
    await store.flush();
  }
  return stream;
}

async function nextBatch(batches: AsyncGenerator<RecordBatch>): Promise<string[]> {
  const result = await batches.next();
  return result.done === true ? [] : [...result.value].map((record) => String(record.value));
}

async function nextRecord(records: AsyncIterator<StreamRecord>): Promise<StreamRecord | undefined> {
  const next = await records.next();
  return next.done === true ? undefined : next.value;
}

test('records take their offsets again under a higher epoch, in memory, in segments and after an opening', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await inRuns(store, [3]);
  await stream.append('old 3');
  await stream.truncate({ after: 1 });
  assert.equal(await stream.append('new 2'), 2);
  const expected = [
    [0, 'old 0', 0],
    [1, 'old 1', 0],
    [2, 'new 2', 1],
  ];
  const found = async (): Promise<unknown> =>
    (await collect(stream.read())).map(({ offset, value, epoch }: StreamRecord) => [offset, String(value), epoch]);
  assert.deepEqual(await found(), expected);
  assert.equal((await stream.get(2))?.epoch, 1);
  assert.equal(await stream.get(3), undefined);
  await store.flush();
  assert.deepEqual(await found(), expected);
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  assert.deepEqual(await found(), expected);
  await stream.truncate({ after: 2 });
  await stream.append('newer 3');
  assert.equal((await stream.get(3))?.epoch, 2);
});

test('the epoch stays raised when nothing was appended behind a truncation before a flush and an opening', async (t) => {
  const folder = new StoreFolder(t);
  for (const after of [4, 2]) {
    let store = await folder.open();
    let stream = await store.stream('a');
    if (after === 4) await stream.appendMany(numbered(5));
    const { epoch } = await stream.info();
    await stream.truncate({ after });
    await store.flush();
    assert.equal((await stream.info()).epoch, epoch + 1);
    await store.close();
    store = await folder.open();
    stream = await store.stream('a');
    assert.equal((await stream.info()).epoch, epoch + 1);
    assert.equal(await stream.append('next'), after + 1);
    assert.equal((await stream.get(after + 1))?.epoch, epoch + 1);
    await store.close();
  }
});

test('consumer offsets alone can be flushed after a truncation', async (t) => {
  const store = await openStore(t);
  const stream = await inRuns(store, [4]);
  await stream.truncate({ after: 2 });
  await store.flush();
  await stream.storeOffset('a', 1, { durable: true });
  await store.flush();
  await stream.storeOffset('a', 2, { durable: true });
  await store.flush();
  assert.equal(await stream.append('new 3'), 3);
  await store.flush();
  assert.deepEqual((await store.verify()).problems, []);
});

test('a reader that stands right at the cut goes on with what was appended behind it', async (t) => {
  const store = await openStore(t);
  const stream = await inRuns(store, [3, 3]);
  const batches = stream.readBatches();
  assert.deepEqual(await nextBatch(batches), numbered(3, 'old '));
  await stream.truncate({ after: 2 });
  await stream.appendMany(['new 3', 'new 4']);
  await store.flush();
  assert.deepEqual(await nextBatch(batches), ['new 3', 'new 4']);
  assert.deepEqual(await nextBatch(batches), []);
});

test('a reader in the middle of a run reads no further than where it was cut meanwhile', async (t) => {
  const store = await openStore(t, { wal: { ...SMALL_WAL, slotBytes: 1024 * 1024 } });
  const stream = await store.stream('a');
  const value = (index: number): string => `${index}`.padEnd(10_000, '.');
  await stream.appendMany(Array.from({ length: 80 }, (_, index) => value(index)));
  await store.flush();
  const batches = stream.readBatches();
  const first = await nextBatch(batches);
  assert.ok(first.length > 0 && first.length < 40, 'a run of several chunks');
  await stream.truncate({ after: 59 });
  await stream.append('new 60');
  await store.flush();
  const rest: string[] = [];
  for await (const batch of batches) for (const record of batch) rest.push(String(record.value));
  assert.deepEqual([...first, ...rest], [...Array.from({ length: 60 }, (_, index) => value(index)), 'new 60']);
});

test('a reader that has delivered what was cut gets an error, flushed or not', async (t) => {
  const store = await openStore(t);
  const stream = await inRuns(store, [3, 3]);
  for (const flush of [false, true]) {
    const batches = stream.readBatches();
    await batches.next();
    await batches.next();
    await stream.truncate({ after: 1 });
    await stream.appendMany(numbered(4, 'new ', 2));
    if (flush) await store.flush();
    await assert.rejects(batches.next(), truncatedError);
    const records = stream.read();
    assert.equal((await nextRecord(records))?.offset, 0);
  }
});

test('a follower that waits is woken: by an error below what it has, by new records otherwise', async (t) => {
  const store = await openStore(t);
  const stream = await inRuns(store, [4]);
  const follower = stream.read({ from: 'next', follow: true });
  const waiting = nextRecord(follower);
  await stream.truncate({ after: 3 });
  await stream.append('new 4');
  const record = await waiting;
  assert.deepEqual([record?.offset, record?.value?.toString(), record?.epoch], [4, 'new 4', 1]);
  const cut = assert.rejects(follower.next(), truncatedError);
  await stream.truncate({ after: 0 });
  await cut;
});

test('readers that start after a truncation know nothing of it', async (t) => {
  const store = await openStore(t);
  const stream = await inRuns(store, [4]);
  await stream.truncate({ after: 1 });
  assert.deepEqual(await texts(stream.read()), numbered(2, 'old '));
  await stream.append('new 2');
  assert.deepEqual(await texts(stream.read({ from: 2 })), ['new 2']);
  assert.deepEqual(await texts(stream.read({ from: 'last' })), ['new 2']);
});

test('appends that were called before a truncation keep their offsets or are cut; those after it follow it', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  const before = stream.appendMany(numbered(5));
  const cut = stream.truncate({ after: 2 });
  const after = stream.append('x');
  assert.equal(await before, 0);
  await cut;
  await after;
  const records = await collect(stream.read());
  assert.deepEqual(
    records.map(({ offset }) => offset),
    records.map((_, index) => index),
  );
  assert.ok(records.length <= 4);
});

test('with a full ring, truncations, appends and offsets take their turns', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await store.stream('a');
  const work: Promise<unknown>[] = [];
  for (let round = 0; round < 20; round += 1) {
    work.push(stream.appendMany(Array.from({ length: 5 }, () => Buffer.alloc(5_000, `${round}`))));
    if (round % 5 === 4) await stream.truncate({ after: round });
    work.push(stream.storeOffset('a', 0).catch(() => undefined));
  }
  await Promise.all(work);
  const { nextOffset, epoch, records } = await stream.info();
  assert.equal(epoch, 4);
  assert.equal(records, nextOffset);
  const before = (await collect(stream.read())).map(({ offset, epoch: own, value }) => [
    offset,
    own,
    value?.toString(),
  ]);
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  const after = (await collect(stream.read())).map(({ offset, epoch: own, value }) => [offset, own, value?.toString()]);
  assert.deepEqual(after, before);
  assert.deepEqual((await store.verify()).problems, []);
});

test('a publisher whose last record is cut is forgotten, one whose record stays is not', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await store.stream('a');
  await stream.publisher('kept').append(7, 'kept');
  await stream.publisher('cut').append(7, 'cut');
  await store.flush();
  await stream.publisher('cut in memory').append(7, 'cut too');
  await stream.truncate({ after: 0 });
  for (let round = 0; round < 2; round += 1) {
    assert.equal((await stream.publisher('kept').append(7, 'again')).duplicate, true);
    assert.equal(await stream.publisher('cut').lastPublishingId(), undefined);
    assert.equal(await stream.publisher('cut in memory').lastPublishingId(), undefined);
    await store.close();
    store = await folder.open();
    stream = await store.stream('a');
  }
  assert.deepEqual(await stream.publisher('cut').append(7, 'once more'), { offset: 1, duplicate: false });
  // Offsets beyond the cut are taken again: the mark that lay there must not come back with them.
  await stream.publisher('cut in memory').append(1, 'x');
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  assert.equal(await stream.publisher('cut').lastPublishingId(), 7);
  assert.equal(await stream.publisher('cut in memory').lastPublishingId(), 1);
});

test('consumers beyond the cut go back to the end of the stream', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await inRuns(store, [6]);
  await stream.storeOffset('before', 1, { durable: true });
  await stream.storeOffset('behind', 5, { durable: true });
  await stream.storeOffset('behind, not written yet', 4);
  await stream.truncate({ after: 2 });
  const expected = [
    ['before', 1],
    ['behind', 2],
    ['behind, not written yet', 2],
  ];
  for (let round = 0; round < 2; round += 1) {
    assert.deepEqual(
      (await stream.offsets()).map(({ reference, offset }) => [reference, offset]),
      expected,
    );
    await store.close();
    store = await folder.open();
    stream = await store.stream('a');
  }
  await stream.truncate({ after: -1 });
  assert.deepEqual(await stream.offsets(), []);
});

test('trims and retention wait for a truncation in the ring, and never pass it', async (t) => {
  const folder = new StoreFolder(t);
  let store = await folder.open();
  let stream = await inRuns(store, [10, 10, 10]);
  await stream.configure({ retention: { maxBytes: 1 } });
  await stream.truncate({ after: 14 });
  // Retention would keep the newest run alone, which begins at 20: behind the cut.
  await store.compact();
  assert.equal((await stream.info()).firstOffset, 0);
  await stream.appendMany(numbered(10, 'new ', 15));
  await assert.rejects(stream.trim(26), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
  await stream.trim(17);
  assert.deepEqual(await texts(stream.read()), numbered(8, 'new ', 17));
  await store.close();
  store = await folder.open();
  stream = await store.stream('a');
  assert.deepEqual(await texts(stream.read()), numbered(8, 'new ', 17));
  assert.deepEqual((await store.verify()).problems, []);
});

for (const regrown of [false, true]) {
  const what = regrown ? 'other records took its offsets' : 'the stream is shorter now';
  test(`a reader in another process that has what was cut gets an error: ${what}`, async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open();
    const stream = await inRuns(store, [5]);
    const follower = await folder.open({ readOnly: true });
    const batches = (await follower.stream('a')).readBatches({ follow: true });
    assert.equal((await nextBatch(batches)).length, 5);
    const cut = assert.rejects(batches.next(), truncatedError);
    await stream.truncate({ after: 1 });
    if (regrown) await stream.appendMany(numbered(10, 'new ', 2));
    await store.flush();
    await cut;
  });
}

test('a reader in another process that stands right at the cut goes on', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const stream = await inRuns(store, [5]);
  const follower = await folder.open({ readOnly: true });
  const batches = (await follower.stream('a')).readBatches({ follow: true });
  assert.equal((await nextBatch(batches)).length, 5);
  await stream.truncate({ after: 4 });
  await stream.append('new 5');
  await store.flush();
  assert.deepEqual(await nextBatch(batches), ['new 5']);
  await stream.append('new 6');
  await store.flush();
  assert.deepEqual(await nextBatch(batches), ['new 6']);
  await batches.return(undefined);
});

for (const recovered of [false, true]) {
  const when = recovered ? 'that was recovered' : 'in memory';
  test(`a reader meets nothing void when a truncation ${when} is flushed between two of its batches`, async (t) => {
    const folder = new StoreFolder(t);
    let store = await folder.open();
    let stream = await inRuns(store, [2, 3, 4]);
    await stream.truncate({ after: 2 });
    await stream.append('new 3');
    if (recovered) {
      store = await folder.openKilled();
      stream = await store.stream('a');
    }
    const batches = stream.readBatches();
    const found = await nextBatch(batches);
    assert.deepEqual(found, ['old 0', 'old 1']);
    await store.flush();
    for (let more = await nextBatch(batches); more.length > 0; more = await nextBatch(batches)) found.push(...more);
    assert.deepEqual(found, ['old 0', 'old 1', 'old 2', 'new 3']);
  });
}
