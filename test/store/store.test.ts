import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { isMillraceError, type Store, type Stream } from '../../src/index.ts';
import { coded, collect, numbered, openStore, StoreFolder, texts } from '../support/test-store.ts';

test('streams are listed by name with their configuration, and asking twice gives the same stream', async (t) => {
  const store = await openStore(t);
  const [b, a, again] = await Promise.all([
    store.stream('b', { compression: 'none' }),
    store.stream('a'),
    store.stream('b'),
  ]);
  assert.equal(again, b);
  assert.equal(await store.stream('a'), a);
  const streams = await store.streams();
  assert.deepEqual(
    streams.map(({ name, config }) => [name, config.compression]),
    [
      ['a', 'lz4'],
      ['b', 'none'],
    ],
  );
});

test('a deleted stream is gone with its records, and one of the same name starts anew', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const old = await store.stream('a', { compression: 'none' });
  await old.appendMany(numbered(50));
  await store.flush();
  await old.append('in memory');
  await old.storeOffset('billing', 3, { durable: true });
  assert.equal(await store.deleteStream('a'), true);
  assert.equal(await store.deleteStream('a'), false);
  assert.deepEqual(await store.streams(), []);
  await refusesEverything(old, 'ERR_MILLRACE_STREAM_NOT_FOUND');

  const anew = await store.stream('a');
  assert.deepEqual(await collect(anew.read()), []);
  assert.equal(anew.config.compression, 'lz4');
  assert.equal(await anew.queryOffset('billing'), undefined);
  assert.equal(await anew.append('fresh'), 0);
  await refusesEverything(old, 'ERR_MILLRACE_STREAM_NOT_FOUND');
  await store.close();
  assert.deepEqual(await texts((await (await folder.open()).stream('a')).read()), ['fresh']);
});

/** Every call of a stream that is no longer usable rejects with the same code. */
async function refusesEverything(
  stream: Stream,
  code: 'ERR_MILLRACE_STREAM_NOT_FOUND' | 'ERR_MILLRACE_CLOSED',
): Promise<void> {
  const refused = coded(code);
  const calls: (() => unknown)[] = [
    () => stream.append('x'),
    () => stream.appendMany(['x']),
    () => stream.get(0),
    () => collect(stream.read()),
    () => collect(stream.readBatches()),
    () => stream.trim(0),
    () => stream.truncate({ after: -1 }),
    () => stream.storeOffset('r', 0),
    () => stream.queryOffset('r'),
    () => stream.deleteOffset('r'),
    () => stream.offsets(),
    () => stream.publisher('p').append(1, 'x'),
    () => stream.configure({}),
    () => stream.info(),
  ];
  for (const call of calls) await assert.rejects(async () => call(), refused, String(call));
}

test('appends under way while their stream is deleted settle, and harm no other stream', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const other = await store.stream('other');
  for (let round = 0; round < 10; round += 1) {
    const doomed = await store.stream('doomed');
    const appends = Array.from({ length: 40 }, () => doomed.append(Buffer.alloc(4_000)));
    const kept = other.append(`record ${round}`);
    const deleted = store.deleteStream('doomed');
    const results = await Promise.allSettled(appends);
    for (const result of results) {
      if (result.status === 'rejected') coded('ERR_MILLRACE_STREAM_NOT_FOUND')(result.reason);
    }
    assert.equal(await deleted, true);
    assert.equal(await kept, round);
  }
  assert.deepEqual(await texts(other.read()), numbered(10));
  assert.deepEqual((await store.verify()).problems, []);
  await store.close();
  const again = await folder.open();
  assert.deepEqual(
    (await again.streams()).map(({ name }) => name),
    ['other'],
  );
  assert.deepEqual(await texts((await again.stream('other')).read()), numbered(10));
});

test('a stream asked for while its namesake is deleted is the new one, and takes appends', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  let expected = 'nothing yet';
  await (await store.stream('a')).append(expected);
  for (let round = 0; round < 20; round += 1) {
    const asked: Promise<Stream>[] = [];
    const deletions = [store.deleteStream('a')];
    asked.push(store.stream('a'));
    if (round % 3 === 0) deletions.push(store.deleteStream('a'));
    await Promise.all([...deletions, ...asked]);
    const stream = await store.stream('a');
    expected = `round ${round}`;
    assert.equal(await stream.append(expected), 0);
    assert.deepEqual(await texts(stream.read()), [expected]);
  }
  await store.close();
  assert.deepEqual(await texts((await (await folder.open()).stream('a')).read()), [expected]);
});

test('closing makes pending appends durable first, those that wait for room in the ring included', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const stream = await store.stream('a');
  const appends = Array.from({ length: 60 }, (_, index) => stream.append(String(index).padEnd(5_000)));
  assert.ok((store.stats().ring?.queuedBytes ?? 0) > 0, 'some wait');
  await Promise.all([store.close(), store.close()]);
  assert.deepEqual(
    await Promise.all(appends),
    appends.map((_, index) => index),
  );
  await store.close();
  const values = await texts((await (await folder.open()).stream('a')).read());
  assert.deepEqual(
    values.map(Number),
    appends.map((_, index) => index),
  );
});

test('a closed store refuses every call, and closing again is fine', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.append('x');
  const publisher = stream.publisher('p');
  await store.close();
  const refused = coded('ERR_MILLRACE_CLOSED');
  await refusesEverything(stream, 'ERR_MILLRACE_CLOSED');
  await assert.rejects(publisher.append(1, 'x'), refused);
  const calls: ((store: Store) => Promise<unknown>)[] = [
    (closed) => closed.stream('a'),
    (closed) => closed.stream('new'),
    (closed) => closed.streams(),
    (closed) => closed.deleteStream('a'),
    (closed) => closed.flush(),
    (closed) => closed.verify(),
  ];
  for (const call of calls) await assert.rejects(call(store), refused, String(call));
  assert.throws(() => store.stats(), refused);
  assert.throws(() => store.metrics(), refused);
  await store.close();
});

test('`await using` closes the store', async (t) => {
  const folder = new StoreFolder(t);
  {
    await using store = await folder.open();
    await (await store.stream('a')).append('x');
  }
  assert.deepEqual(await texts((await (await folder.open()).stream('a')).read()), ['x']);
});

test('opening and closing many times leaves no descriptor behind', { skip: noDescriptorList() }, async (t) => {
  const folder = new StoreFolder(t);
  await (await folder.open()).close();
  const before = readdirSync('/proc/self/fd').length;
  for (let round = 0; round < 8; round += 1) {
    const store = await folder.open();
    const stream = await store.stream('a');
    await stream.append('x'.repeat(1_000));
    await store.flush();
    await collect(stream.read());
    await stream.get(0);
    await store.verify();
    await store.close();
    const reader = await folder.open({ readOnly: true });
    await collect((await reader.stream('a')).read());
    await reader.close();
  }
  assert.ok(readdirSync('/proc/self/fd').length <= before + 2, readdirSync('/proc/self/fd').join(' '));
});

function noDescriptorList(): string | false {
  return process.platform === 'linux' ? false : 'descriptors are listed in /proc on Linux only';
}

test('verify reads every byte of every segment, tells how far it is, and finds nothing wrong', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  for (let round = 0; round < 3; round += 1) {
    await stream.appendMany(numbered(100));
    await store.flush();
  }
  const steps: number[][] = [];
  const report = await store.verify((done, total) => {
    steps.push([done, total]);
  });
  assert.equal(report.records, 300);
  assert.equal(report.objects, 3);
  assert.deepEqual(report.problems, []);
  assert.deepEqual(steps.at(-1), [report.bytes, report.bytes]);
});

test('stats are plain data that tell of ring, log and flushes', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.appendMany(numbered(10));
  const stats = store.stats();
  assert.deepEqual(JSON.parse(JSON.stringify(stats.ring)), stats.ring);
  assert.equal(stats.ring?.slots, 2);
  assert.equal(stats.ring.streams, 1);
  assert.equal(stats.ring.slotsInUse, 1);
  assert.equal(stats.wal?.failure, undefined);
  assert.ok(stats.wal?.mode === 'direct' || stats.wal?.mode === 'buffered');
  await store.flush();
  const after = store.stats();
  assert.equal(after.flush?.segments, 1);
  assert.equal(after.flush.records, 10);
  assert.equal(after.ring?.slotsInUse, 0);
  assert.equal(after.objects.objects.committed, 1);
});

test('an error is recognized across copies of the package, by kind and by code', async (t) => {
  const store = await openStore(t);
  const error = await store.stream('').catch((reason: unknown) => reason);
  assert.equal(isMillraceError(error, 'ERR_MILLRACE_CLOSED'), false);
  assert.ok(isMillraceError(error, 'ERR_MILLRACE_INVALID_STREAM_NAME'));
  assert.deepEqual([error.kind, error.retryable], ['invalid', false]);
  assert.ok(!isMillraceError(new Error('ERR_MILLRACE_CLOSED')));
});
