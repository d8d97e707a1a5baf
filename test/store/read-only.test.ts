/** Readers beside a running writer: they see segments, follow, survive deletions, and never write. */
import assert from 'node:assert/strict';
import { rmSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Store, StreamRecord } from '../../src/index.ts';
import { until } from '../support/child-processes.ts';
import { StoreProcess } from '../support/store-process.ts';
import { coded, collect, listing, numbered, StoreFolder, texts } from '../support/test-store.ts';

test('a reader sees what is in segments, and the rest once it is flushed', async (t) => {
  const folder = new StoreFolder(t);
  const writer = await folder.open();
  const stream = await writer.stream('a', { compression: 'none' });
  await stream.appendMany(numbered(10));
  await writer.flush();
  await stream.appendMany(numbered(10, 'record ', 10));
  const reader = await folder.open({ readOnly: true });
  const seen = await reader.stream('a');
  assert.deepEqual(await texts(seen.read()), numbered(10));
  assert.equal(await seen.get(10), undefined);
  assert.equal((await seen.info()).durableOffset, 10);
  await writer.flush();
  await until('the second flush', async () => (await seen.info()).durableOffset === 20);
  assert.deepEqual(await texts(seen.read()), numbered(20));
  assert.equal((await seen.get(19))?.value?.toString(), 'record 19');
  assert.equal(reader.stats().wal, undefined);
  assert.deepEqual((await reader.verify()).problems, []);
});

test('a reader follows the writer, in this process and in another, without a gap', async (t) => {
  const folder = new StoreFolder(t);
  const writer = await folder.open();
  const stream = await writer.stream('a');
  const reader = await folder.open({ readOnly: true });
  const following = collect((await reader.stream('a')).read({ follow: true, limit: 500 }));
  for (let offset = 0; offset < 500; offset += 20) {
    await stream.appendMany(numbered(20, 'record ', offset));
    if (offset % 60 === 0) await writer.flush();
  }
  await writer.flush();
  const records = await following;
  assert.deepEqual(
    records.map(({ value }) => value?.toString()),
    numbered(500),
  );
});

test('everything that writes is refused to a reader', async (t) => {
  const folder = new StoreFolder(t);
  const writer = await folder.open();
  await (await writer.stream('a')).append('x');
  await writer.flush();
  const reader = await folder.open({ readOnly: true });
  const stream = await reader.stream('a');
  const calls: (() => unknown)[] = [
    () => reader.flush(),
    () => reader.deleteStream('a'),
    () => stream.append('x'),
    () => stream.appendMany([]),
    () => stream.trim(0),
    () => stream.truncate({ after: 0 }),
    () => stream.configure({}),
    () => stream.storeOffset('r', 0),
    () => stream.deleteOffset('r'),
    () => stream.publisher('p').append(1, 'x'),
  ];
  for (const call of calls) {
    await assert.rejects(async () => call(), coded('ERR_MILLRACE_READ_ONLY', 'readOnly'), String(call));
  }
  await assert.rejects(reader.stream('new'), coded('ERR_MILLRACE_STREAM_NOT_FOUND', 'new'));
  assert.deepEqual(
    (await reader.streams()).map(({ name }) => name),
    ['a'],
  );
});

test('a reader changes nothing on disk', async (t) => {
  const folder = new StoreFolder(t);
  const writer = await folder.open();
  const stream = await writer.stream('a');
  await stream.appendMany(numbered(100));
  await writer.flush();
  await stream.storeOffset('billing', 7, { durable: true });
  await writer.close();
  const before = listing(folder.dir);
  const reader = await folder.open({ readOnly: true });
  const seen = await reader.stream('a');
  assert.equal((await collect(seen.read())).length, 100);
  await seen.get(50);
  await seen.info();
  assert.equal(await seen.queryOffset('billing'), 7);
  await seen.offsets();
  await reader.verify();
  reader.stats();
  await reader.close();
  assert.deepEqual(listing(folder.dir), before);
});

/** Paths of all segments. */
function segments(folder: StoreFolder): string[] {
  const names = readdirSync(folder.path('objects'), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.seg')).map((name) => folder.path('objects', name));
}

test('a reader in the middle of a segment goes on when the stream is trimmed and its objects vanish', async (t) => {
  const folder = new StoreFolder(t);
  const writer = await folder.open();
  const stream = await writer.stream('a', { compression: 'none' });
  for (let round = 0; round < 6; round += 1) {
    await stream.appendMany(numbered(100, 'x'.repeat(400), 100 * round));
    await writer.flush();
  }
  const reader = await folder.open({ readOnly: true });
  const seen = await reader.stream('a');
  const skipping = seen.readBatches({
    onTrimmed: 'skip',
    skipped: (from, to) => {
      skipped.push([from, to]);
    },
  });
  const skipped: number[][] = [];
  const told = seen.readBatches({ from: 0 });
  await skipping.next();
  await told.next();
  await stream.trim(500);
  const [last] = segments(folder).slice(-1);
  for (const path of segments(folder)) if (path !== last) rmSync(path);
  const rest = (await collect(skipping)).flatMap((batch) => [...batch]);
  assert.deepEqual(
    rest.slice(-100).map(({ offset }) => offset),
    Array.from({ length: 100 }, (_, index) => 500 + index),
  );
  assert.ok(skipped.every(([, to]) => to === 500));
  await assert.rejects(collect(told), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', '500'));
});

test('a stream that the writer deleted and made again is the new one to a reader that asks again', async (t) => {
  const folder = new StoreFolder(t);
  const writer = await folder.open();
  await (await writer.stream('a')).appendMany(['old', 'old']);
  await writer.flush();
  const reader = await folder.open({ readOnly: true });
  const old = await reader.stream('a');
  assert.deepEqual(await texts(old.read()), ['old', 'old']);
  await writer.deleteStream('a');
  await (await writer.stream('a')).append('new');
  await writer.flush();
  await until('the new stream', async () => (await (await reader.stream('a')).info()).durableOffset === 1);
  assert.deepEqual(await texts((await reader.stream('a')).read()), ['new']);
  await assert.rejects(old.info(), coded('ERR_MILLRACE_STREAM_NOT_FOUND'));
  await writer.deleteStream('a');
  await until('the deletion', () =>
    reader.stream('a').then(
      () => false,
      () => true,
    ),
  );
});

test('readers go on when the writer is killed, and see what it left once it is opened again', async (t) => {
  const folder = new StoreFolder(t);
  const writer = await StoreProcess.start(t);
  await writer.call('open', { dir: folder.dir, wal: { slots: 2, slotBytes: 65_536 } });
  await writer.call('append', 'a', numbered(10));
  await writer.call('flush');
  await writer.call('append', 'a', numbered(10, 'record ', 10));
  const reader = await folder.open({ readOnly: true });
  const stream = await reader.stream('a');
  const follower = take(stream, 20);
  await writer.kill();
  assert.deepEqual(await texts(stream.read()), numbered(10));
  const again = await folder.open();
  await again.flush();
  assert.deepEqual(
    (await follower).map(({ value }) => value?.toString()),
    numbered(20),
  );
});

function take(stream: Awaited<ReturnType<Store['stream']>>, limit: number): Promise<StreamRecord[]> {
  return collect(stream.read({ follow: true, limit }));
}

test('a reader survives snapshots of the manifest that the writer swaps under it', async (t) => {
  const folder = new StoreFolder(t);
  const writer = await folder.open();
  await writer.stream('a');
  const reader = await folder.open({ readOnly: true });
  for (let round = 0; round < 3; round += 1) {
    // Long configurations make a long log, which a snapshot replaces.
    for (let index = 0; index < 40; index += 1) {
      await Promise.all(
        Array.from({ length: 25 }, (_, number) => writer.stream(`${'x'.repeat(240)} ${round} ${index} ${number}`)),
      );
    }
    await until('the streams', async () => (await reader.streams()).length === 1 + 1_000 * (round + 1));
  }
  assert.ok(readdirSync(join(folder.dir, 'manifest')).length >= 3);
});
