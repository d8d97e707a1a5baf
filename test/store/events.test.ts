/** What a store emits to the program that holds it, and what observers of `node:perf_hooks` get. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { test, type TestContext } from 'node:test';
import { isMillraceError, measurePerformance, type Store, type StoreEvents } from '../../src/index.ts';
import { openIn } from '../../src/store/open.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { SimulatedEnvironment } from '../../src/testing/simulated-environment.ts';
import { numbered, openStore, StoreFolder } from '../support/test-store.ts';

const EVENTS = ['flush', 'compaction', 'trim', 'failed', 'compactionFailed', 'close'] as const;

/** Every event that the store emits from now on, with its argument. */
function record(store: Store): [name: keyof StoreEvents, argument: unknown][] {
  const heard: [keyof StoreEvents, unknown][] = [];
  for (const name of EVENTS) store.on(name, (...args: unknown[]) => heard.push([name, args[0]]));
  return heard;
}

test('a store emits its segments, compaction jobs, trims by hand, and its closing, in their order', async (t) => {
  const store = await openStore(t, { compaction: { deleteGrace: 3_600_000 } });
  const heard = record(store);
  const stream = await store.stream('orders');
  for (const value of ['a', 'b', 'c']) {
    await stream.append(value);
    await store.flush();
  }
  await store.compact({ force: true });
  await stream.trim(2);
  // Nothing is below it any more: the log start does not move, and nothing is told.
  await stream.trim(1);
  await store.close();
  await new Promise(setImmediate);
  assert.deepEqual(
    heard.map(([name]) => name),
    ['flush', 'flush', 'flush', 'compaction', 'trim', 'close'],
  );
  const [flush, , , compaction, trim, close] = heard.map(([, argument]) => argument as Record<string, unknown>);
  assert.deepEqual([flush?.['runs'], flush?.['records']], [1, 1]);
  assert.ok(Number(flush?.['duration']) >= 0);
  assert.deepEqual([compaction?.['kind'], compaction?.['inputs'], compaction?.['outputs']], ['merge', 3, 1]);
  assert.deepEqual([trim?.['stream'], trim?.['firstOffset']], ['orders', 2]);
  assert.equal(close, undefined);
});

test('retention that moves a log start is a trim too', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('bounded', { retention: { maxBytes: 1 } });
  const trimmed = once(store, 'trim') as Promise<[{ stream: string; firstOffset: number }]>;
  for (const value of ['first', 'second']) {
    await stream.append(value);
    await store.flush();
  }
  const [{ stream: name, firstOffset }] = await trimmed;
  assert.deepEqual([name, firstOffset], ['bounded', 1]);
});

/** A store whose log cannot be written any more. */
async function failing(t: TestContext): Promise<Store> {
  const disk = new SimulatedDisk();
  const wal = { slots: 2, slotBytes: 64 * 1024 };
  const environment = new SimulatedEnvironment({ fileSystem: disk });
  const store = await openIn(environment, { dir: '/store', wal, compaction: false });
  t.after(() => store.close().catch(() => undefined));
  await (await store.stream('s')).append('kept');
  disk.onCall = ({ operation, path }) => (operation === 'write' && path.includes('wal') ? { error: 'EIO' } : undefined);
  return store;
}

test('a store that fails emits once, with the error that appends are refused with', async (t) => {
  const store = await failing(t);
  const heard = record(store);
  const stream = await store.stream('s');
  let refused: unknown;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await stream.append('lost').catch((error: unknown) => {
      refused = error;
    });
  }
  await new Promise(setImmediate);
  assert.ok(isMillraceError(refused, 'ERR_MILLRACE_WRITE_FAILED'));
  assert.deepEqual(heard, [['failed', refused]]);
});

test('a store that fails while nobody listens harms nobody: no event is named error', async (t) => {
  const store = await failing(t);
  await assert.rejects((await store.stream('s')).append('lost'), { code: 'ERR_MILLRACE_WRITE_FAILED' });
  await new Promise(setImmediate);
  assert.equal(store.listenerCount('failed'), 0);
});

test('what a listener throws is the program’s uncaught exception, and the store goes on', async (t) => {
  const store = await openStore(t);
  store.on('flush', () => {
    throw new Error('a listener’s mistake');
  });
  const uncaught = new Promise<Error>((resolve) => {
    process.setUncaughtExceptionCaptureCallback(resolve);
  });
  t.after(() => process.setUncaughtExceptionCaptureCallback(null));
  const stream = await store.stream('s');
  await stream.append('a');
  await store.flush();
  assert.equal((await uncaught).message, 'a listener’s mistake');
  assert.equal(await stream.append('b'), 1);
});

test('who observes gets a measure of each flush, and the timeline keeps none', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const stream = await store.stream('s');
  type Measure = { name: string; duration: number; detail: { records: number } };
  const entries: { name: string; duration: number; records: unknown }[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { name, duration, detail } of list.getEntries() as unknown as Measure[]) {
      entries.push({ name, duration, records: detail.records });
    }
  });
  observer.observe({ entryTypes: ['measure'] });
  t.after(() => {
    observer.disconnect();
  });
  const append = async (): Promise<void> => {
    await stream.appendMany(numbered(10));
    await store.flush();
  };
  await append();
  const stop = measurePerformance();
  await append();
  stop();
  await append();
  while (entries.length === 0) await new Promise(setImmediate);
  assert.deepEqual(
    entries.map(({ name, records }) => [name, records]),
    [['millrace:flush', 10]],
  );
  assert.ok((entries[0]?.duration ?? -1) >= 0);
  assert.deepEqual(performance.getEntriesByType('measure'), []);
});
