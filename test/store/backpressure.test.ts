/** The ring fills, flushes and empties: who waits, who is refused, and how much memory that takes. */
import assert from 'node:assert/strict';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMillraceError, type StreamRecord } from '../../src/index.ts';
import { coded, collect, numbered, openStore, SMALL_WAL, texts } from '../support/test-store.ts';
import { until } from '../support/child-processes.ts';
import { collectGarbage } from '../support/garbage.ts';

const VALUE = Buffer.alloc(8_000, 'v');

test('a full ring makes appends wait, and they go on in order as slots are flushed', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  const appends = Array.from({ length: 100 }, () => stream.append(VALUE));
  const { ring } = store.stats();
  assert.ok((ring?.queuedBytes ?? 0) > 50 * VALUE.length, 'most of them wait');
  assert.deepEqual(
    await Promise.all(appends),
    appends.map((_, index) => index),
  );
  assert.equal(store.stats().ring?.queuedBytes, 0);
  assert.ok((store.stats().flush?.segments ?? 0) >= 10, 'slots were flushed in turn');
});

test('appends beyond the bound are refused as retryable, and everything accepted before stays in order', async (t) => {
  const store = await openStore(t, { wal: { ...SMALL_WAL, maxQueuedBytes: 20 * VALUE.length } });
  const stream = await store.stream('a');
  const publisher = stream.publisher('p');
  const calls = Array.from({ length: 80 }, (_, index) =>
    index % 2 === 0 ? stream.append(VALUE) : publisher.append(index, VALUE),
  );
  const results = await Promise.allSettled(calls);
  const refused = results.filter((result) => result.status === 'rejected');
  assert.ok(refused.length > 20, `${refused.length} refused`);
  for (const { reason } of refused) {
    coded('ERR_MILLRACE_QUEUE_FULL', 'maxQueuedBytes', 'await')(reason);
    assert.ok(isMillraceError(reason) && reason.retryable);
  }
  const accepted = results.length - refused.length;
  assert.equal((await collect(stream.read())).length, accepted);
  // What was refused can be sent again, under its publishing id too.
  const again = Math.max(
    ...results.flatMap(({ status }, index) => (status === 'rejected' && index % 2 ? [index] : [])),
  );
  assert.deepEqual(await publisher.append(again, VALUE), { offset: accepted, duplicate: false });
});

test('values without bytes fill the queue too', async (t) => {
  const store = await openStore(t, { wal: { ...SMALL_WAL, maxQueuedBytes: 10_000 } });
  const stream = await store.stream('a');
  const filling = Array.from({ length: 20 }, () => stream.append(VALUE));
  const empty = Array.from({ length: 2_000 }, () => stream.append(null));
  const results = await Promise.allSettled([...filling, ...empty]);
  assert.ok(results.some((result) => result.status === 'rejected'));
});

test('appendMany and writables wait however many others do', async (t) => {
  const store = await openStore(t, { wal: { ...SMALL_WAL, maxQueuedBytes: 1 } });
  const stream = await store.stream('a');
  const calls = Array.from({ length: 30 }, () => stream.appendMany([VALUE, VALUE]));
  const writable = stream.writable();
  for (let index = 0; index < 30; index += 1) writable.write(VALUE);
  await new Promise<void>((resolve, reject) => {
    writable.once('error', reject);
    writable.end(resolve);
  });
  assert.deepEqual(
    await Promise.all(calls),
    calls.map((_, index) => 2 * index),
  );
  assert.equal((await collect(stream.read())).length, 90);
});

test('the array given to appendMany may be used again while its records wait', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const filling = stream.appendMany(Array.from({ length: 30 }, () => VALUE));
  const records = numbered(3);
  const waiting = stream.appendMany(records);
  records.length = 0;
  records.push('other');
  assert.equal(await waiting, 30);
  await filling;
  assert.deepEqual(await texts(stream.read({ from: 30 })), numbered(3));
});

test('one appendMany of many times the ring goes through it', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const values = numbered(20_000, 'a record of some length, number ');
  assert.equal(await stream.appendMany(values), 0);
  assert.deepEqual(await texts(stream.read()), values);
});

test('a flush, a stored offset and a duplicate are answered while others keep the ring full', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  const publisher = stream.publisher('p');
  await publisher.append(1, 'once');
  let done = false;
  const keepFull = async (): Promise<void> => {
    while (!done) await stream.append(VALUE);
  };
  const appenders = Array.from({ length: 60 }, keepFull);
  for (let round = 0; round < 3; round += 1) {
    await store.flush();
    await stream.storeOffset('billing', round, { durable: true });
    assert.deepEqual(await publisher.append(1, 'once'), { offset: 0, duplicate: true });
  }
  done = true;
  await Promise.all(appenders);
});

test('a slot that is not full is flushed when its time has come, an empty one is not', async (t) => {
  const store = await openStore(t, { wal: { ...SMALL_WAL, flushInterval: 150 } });
  const stream = await store.stream('a');
  const segments = async (): Promise<number> => store.stats().flush?.segments ?? 0;
  await stream.append('x');
  await until('a flush', async () => (await segments()) === 1);
  assert.equal(store.stats().ring?.slotsInUse, 0);
  await sleep(200);
  assert.equal(await segments(), 1);
  await stream.append('y');
  await until('another flush', async () => (await segments()) === 2);
  assert.deepEqual(await texts(stream.read()), ['x', 'y']);
});

test('records piped through a small ring come out as they went in', async (t) => {
  const store = await openStore(t);
  const [source, target] = [await store.stream('source'), await store.stream('target')];
  const count = 30_000;
  await pipeline(Readable.from(numbered(count)), source.writable());
  const copy = async function* (records: AsyncIterable<StreamRecord>): AsyncGenerator<Buffer | null> {
    for await (const { value } of records) yield value;
  };
  await pipeline(source.readable(), copy, target.writable());
  assert.deepEqual(await texts(target.read()), numbered(count));
});

test('a writable takes options with values, and ends with the error of a record it cannot take', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  await pipeline(Readable.from([{ value: 'v', key: 'k', timestamp: 7 }, 'plain']), stream.writable());
  const [first] = await collect(stream.read());
  assert.deepEqual([first?.key?.toString(), first?.timestamp], ['k', 7]);
  const failing = pipeline(Readable.from(['good', { value: 5 }, 'late']), stream.writable());
  await assert.rejects(failing, coded('ERR_MILLRACE_INVALID_ARGUMENT'));
});

test('a slow reader of a readable holds the records back: few are read ahead', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.appendMany(numbered(5_000, 'x'.repeat(200)));
  let taken = 0;
  const readable = stream.readable();
  const slow = new Writable({
    objectMode: true,
    highWaterMark: 1,
    write: (_record, _encoding, done) => {
      taken += 1;
      if (taken < 20) setImmediate(done);
    },
  });
  readable.pipe(slow);
  await until('the first records', () => Promise.resolve(taken === 20));
  assert.ok(readable.readableLength <= 20);
  readable.destroy();
});

test('a following readable that is destroyed while it waits closes at once', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  await stream.append('x');
  const readable = stream.readable({ follow: true });
  const seen: StreamRecord[] = [];
  readable.on('data', (record: StreamRecord) => seen.push(record));
  await until('the record', () => Promise.resolve(seen.length === 1));
  const closed = new Promise((resolve) => readable.once('close', resolve));
  readable.destroy();
  await closed;
});

test('reading a long stream takes memory for a few batches, not for the stream', async (t) => {
  const store = await openStore(t, { wal: { slots: 2, slotBytes: 1024 * 1024, flushInterval: 3_600_000 } });
  const stream = await store.stream('a', { compression: 'none' });
  const megabyte = Array.from({ length: 16 }, () => Buffer.alloc(64 * 1024 - 100, 'm'));
  for (let index = 0; index < 96; index += 1) await stream.appendMany(megabyte);
  collectGarbage();
  const before = process.memoryUsage();
  let most = 0;
  let records = 0;
  for await (const batch of stream.readBatches()) {
    records += batch.length;
    // A collection for each batch would take most of the time: one for each 4 MiB.
    if (records % 64 !== 0) continue;
    collectGarbage();
    const { arrayBuffers } = process.memoryUsage();
    most = Math.max(most, arrayBuffers - before.arrayBuffers);
    await new Promise(setImmediate);
  }
  assert.equal(records, 96 * 16);
  assert.ok(most > 0);
  assert.ok(most < 16 * 1024 * 1024, `${most} bytes of buffers for 96 MiB of records`);
});
