import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { open, type OpenOptions } from '../../src/index.ts';
import { collect, StoreFolder } from '../support/test-store.ts';

/** Small objects, soon: the files of a test are few and it waits little. */
const SMALL: Partial<OpenOptions> = { wal: false, diskless: { slots: 3, slotBytes: 64 * 1024, interval: 5 } };

suite('a store without a WAL, alone in its directory', () => {
  test('acknowledges appends under dense offsets once they are in objects, and reads them back', async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open(SMALL);
    const stream = await store.stream('orders');
    const offsets = await Promise.all(Array.from({ length: 2_000 }, (_, index) => stream.append(`value ${index} `)));
    assert.deepEqual(offsets, Array.from(offsets.keys()));
    const first = await stream.appendMany(['a', { value: 'b', key: 'k' }]);
    assert.equal(first, 2_000);
    assert.equal((await stream.get(first + 1))?.key?.toString(), 'k');
    const records = await collect(stream.read());
    assert.equal(records.length, 2_002);
    assert.equal(records[77]?.value?.toString(), 'value 77 ');
    const { durableOffset, nextOffset, records: count, segments } = await stream.info();
    assert.deepEqual([durableOffset, nextOffset, count], [2_002, 2_002, 2_002]);
    assert.ok(segments > 1, 'several objects');
    assert.equal(existsSync(folder.path('wal')), false);
    assert.deepEqual((await store.verify()).problems, []);
  });

  test('goes on where it ended when it is opened again', async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open(SMALL);
    await (await store.stream('orders')).appendMany(['a', 'b']);
    await store.close();
    const again = await (await folder.open(SMALL)).stream('orders');
    assert.equal(await again.append('c'), 2);
    assert.deepEqual(
      (await collect(again.read())).map(({ value }) => String(value)),
      ['a', 'b', 'c'],
    );
  });

  test('gives a group that is spread over several objects the offset of its first record', async (t) => {
    const stream = await (await new StoreFolder(t).open(SMALL)).stream('large');
    assert.equal(await stream.append('before'), 0);
    const values = Array.from({ length: 40 }, (_, index) => Buffer.alloc(20_000, index));
    const [first, after] = await Promise.all([stream.appendMany(values), stream.append('after')]);
    assert.deepEqual([first, after], [1, 41]);
    assert.deepEqual((await stream.get(40))?.value, values[39]);
  });

  test('lets followers go on as objects are committed', async (t) => {
    const stream = await (await new StoreFolder(t).open(SMALL)).stream('followed');
    const seen: string[] = [];
    const following = (async () => {
      for await (const { value } of stream.read({ follow: true, limit: 3 })) seen.push(String(value));
    })();
    for (const value of ['a', 'b', 'c']) await stream.append(value);
    await following;
    assert.deepEqual(seen, ['a', 'b', 'c']);
  });

  test('takes each record of a publisher once, also from the next process', async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open(SMALL);
    const publisher = (await store.stream('s')).publisher('p');
    assert.equal(await publisher.lastPublishingId(), undefined);
    const records = [1, 2, 5].map((publishingId) => ({ publishingId, value: String(publishingId) }));
    assert.deepEqual(
      (await publisher.appendMany(records)).map(({ offset }) => offset),
      [0, 1, 2],
    );
    const sent = await Promise.all([
      publisher.append(5, 'again'),
      publisher.append(6, '6'),
      publisher.append(6, 'again'),
    ]);
    assert.deepEqual(sent, [
      { offset: 2, duplicate: true },
      { offset: 3, duplicate: false },
      { offset: 3, duplicate: true },
    ]);
    await store.close();
    const stream = await (await folder.open(SMALL)).stream('s');
    const next = stream.publisher('p');
    assert.equal(await next.lastPublishingId(), 6);
    assert.deepEqual(await next.append(6, 'again'), { offset: 3, duplicate: true });
    assert.deepEqual(await next.append(7, '7'), { offset: 4, duplicate: false });
    assert.equal((await stream.info()).records, 5);
  });

  test('keeps consumers with the coordinator, and readers start behind them', async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open({ ...SMALL, tracking: { maxInterval: 1 } });
    const stream = await store.stream('s');
    await stream.appendMany(['a', 'b', 'c']);
    await assert.rejects(stream.storeOffset('reader', 3), { code: 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE' });
    await stream.storeOffset('reader', 0);
    assert.equal(await stream.queryOffset('reader'), 0);
    await stream.storeOffset('reader', 1, { durable: true });
    await stream.storeOffset('late', 2);
    await store.close();
    const again = await (await folder.open(SMALL)).stream('s');
    assert.deepEqual(
      (await collect(again.read({ from: { reference: 'reader' } }))).map(({ value }) => String(value)),
      ['c'],
    );
    assert.equal(await again.queryOffset('late'), 2);
    assert.deepEqual(await again.offsets(), [
      { reference: 'late', offset: 2, lag: 0 },
      { reference: 'reader', offset: 1, lag: 1 },
    ]);
    assert.equal(await again.deleteOffset('late', { durable: true }), true);
    await again.trim(2);
    assert.deepEqual(await again.offsets(), []);
  });

  test('lets trimmed and compacted records go, though a publisher wrote them', async (t) => {
    const store = await new StoreFolder(t).open({ ...SMALL, compaction: false });
    const stream = await store.stream('s');
    const publisher = stream.publisher('p');
    for (let id = 0; id < 8; id += 1) await publisher.append(id, 'x'.repeat(1_000));
    await stream.trim(6);
    await store.compact({ force: true });
    const { heldBytes, records, trackingBytes } = await stream.info();
    assert.deepEqual([heldBytes, records, trackingBytes], [0, 2, 0]);
    assert.deepEqual(
      (await collect(stream.read())).map(({ offset }) => offset),
      [6, 7],
    );
  });

  test('shows a read-only store what is committed', async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open(SMALL);
    const stream = await store.stream('s');
    await stream.append('a');
    await stream.storeOffset('reader', 0, { durable: true });
    const reader = await folder.open({ ...SMALL, readOnly: true });
    const view = await reader.stream('s');
    assert.equal((await collect(view.read())).length, 1);
    assert.equal(await view.queryOffset('reader'), 0);
  });

  test('cannot truncate', async (t) => {
    const stream = await (await new StoreFolder(t).open(SMALL)).stream('s');
    await stream.append('a');
    await assert.rejects(stream.truncate({ after: -1 }), { code: 'ERR_MILLRACE_UNSUPPORTED' });
  });

  test('is not opened with a WAL, nor the other way round', async (t) => {
    const unsupported = { code: 'ERR_MILLRACE_UNSUPPORTED' };
    const folder = new StoreFolder(t);
    await (await folder.open(SMALL)).close();
    await assert.rejects(folder.open(), unsupported);
    const other = new StoreFolder(t);
    await (await other.open()).close();
    await assert.rejects(other.open(SMALL), unsupported);
  });

  test('is locked while it is open', async (t) => {
    const folder = new StoreFolder(t);
    await folder.open(SMALL);
    await assert.rejects(folder.open(SMALL), { code: 'ERR_MILLRACE_LOCKED' });
  });

  test('refuses options that do not go together', async (t) => {
    const dir = new StoreFolder(t).dir;
    const coordinator = { open: () => Promise.reject(new Error('is not opened')) };
    await assert.rejects(open({ dir, coordinator }), { code: 'ERR_MILLRACE_UNSUPPORTED' });
    for (const options of [
      { dir, diskless: {} },
      { wal: false },
      { wal: false, coordinator },
      { dir, wal: false, diskless: { interval: 0 } },
      { dir, wal: false, diskless: { slots: 64, slotBytes: 512 * 1024 * 1024 } },
      { dir, wal: false, diskless: { other: 1 } },
    ]) {
      await assert.rejects(open(options as OpenOptions), { code: 'ERR_MILLRACE_INVALID_ARGUMENT' });
    }
    assert.equal(existsSync(join(dir, 'STORE')), false);
  });
});
