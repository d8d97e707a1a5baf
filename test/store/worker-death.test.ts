/** Worker threads end without a word: out of memory, or killed by a debugger. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { type WorkerFiles, workerFiles } from '../../src/thread/worker-files.ts';
import { coded, numbered, StoreFolder, texts } from '../support/test-store.ts';

const DYING = new URL('../support/dying.worker.js', import.meta.url);

/** Lets stores that are opened until the test ends use a worker that dies. */
function replaceWorker(t: TestContext, which: keyof WorkerFiles): () => void {
  const files: Record<keyof WorkerFiles, URL> = workerFiles;
  const original = files[which];
  files[which] = DYING;
  const restore = (): void => {
    files[which] = original;
  };
  t.after(restore);
  return restore;
}

test('when the WAL worker ends, appends are refused by name, reads go on, and opening anew goes on', async (t) => {
  const folder = new StoreFolder(t);
  const before = await folder.open();
  await (await before.stream('a')).appendMany(numbered(10));
  await before.close();

  const restore = replaceWorker(t, 'wal');
  const store = await folder.open();
  const stream = await store.stream('a');
  const died = coded('ERR_MILLRACE_WORKER_DIED', 'open the store again');
  await Promise.all(['x', 'y'].map((value) => assert.rejects(stream.append(value), died)));
  await assert.rejects(stream.append('z'), died);
  await assert.rejects(stream.appendMany(['z']), died);
  await assert.rejects(store.flush(), died);
  assert.deepEqual(await texts(stream.read()), numbered(10));
  assert.equal(store.stats().wal?.failure, 'ERR_MILLRACE_WORKER_DIED');
  await store.close();

  restore();
  const again = await folder.open();
  assert.equal(await (await again.stream('a')).append('record 10'), 10);
  assert.deepEqual(await texts((await again.stream('a')).read()), numbered(11));
});

test('when a worker of the pool ends in the middle of a flush, nothing is lost and the store says so', async (t) => {
  const folder = new StoreFolder(t);
  const restore = replaceWorker(t, 'pool');
  const store = await folder.open();
  const stream = await store.stream('a');
  await stream.appendMany(numbered(10));
  const died = coded('ERR_MILLRACE_WORKER_DIED');
  await assert.rejects(store.flush(), died);
  await assert.rejects(stream.append('late'), died);
  assert.deepEqual(await texts(stream.read()), numbered(10), 'still served from memory');
  await store.close();

  restore();
  const again = await folder.open();
  assert.deepEqual(await texts((await again.stream('a')).read()), numbered(10));
  assert.deepEqual((await again.verify()).problems, []);
});
