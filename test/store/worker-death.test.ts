/** Worker threads end without a word: out of memory, or killed by a debugger. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setWorkerFiles, type Store } from '../../src/index.ts';
import { type WorkerFiles, workerFiles } from '../../src/thread/worker-files.ts';
import { coded, numbered, StoreFolder, texts } from '../support/test-store.ts';

const DYING = new URL('../support/dying.worker.js', import.meta.url);

/** Lets stores that are opened until the test ends use another worker: by default one that dies. */
function replaceWorker(t: TestContext, which: keyof WorkerFiles, file: URL = DYING): () => void {
  const files: Record<keyof WorkerFiles, URL> = workerFiles;
  const original = files[which];
  files[which] = file;
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

/** A store with ten records whose flush has failed: all of them are there, here and with workers that work. */
async function goesOnAfterwards(
  folder: StoreFolder,
  store: Store,
  died: (error: unknown) => true,
  restore: () => void,
): Promise<void> {
  const stream = await store.stream('a');
  await assert.rejects(stream.append('late'), died);
  assert.deepEqual(await texts(stream.read()), numbered(10), 'still served from memory');
  await store.close();

  restore();
  const again = await folder.open();
  assert.deepEqual(await texts((await again.stream('a')).read()), numbered(10));
  await again.flush();
  assert.deepEqual((await again.verify()).problems, []);
}

test('when a worker of the pool ends in the middle of a flush, nothing is lost and the store says so', async (t) => {
  const folder = new StoreFolder(t);
  const restore = replaceWorker(t, 'pool');
  const store = await folder.open();
  const stream = await store.stream('a');
  await stream.appendMany(numbered(10));
  const died = coded('ERR_MILLRACE_WORKER_DIED');
  await assert.rejects(store.flush(), died);
  await goesOnAfterwards(folder, store, died, restore);
});

/** Pool workers that never get to a job: the source, or none for a file that is missing, and the cause to be named. */
const UNUSABLE: readonly (readonly [name: string, source: string | undefined, cause: string])[] = [
  ['is missing', undefined, 'ERR_MODULE_NOT_FOUND'],
  ['throws while it is loaded', `throw new Error('boo');`, 'Error: boo'],
  ['exits while it is loaded', 'process.exit(3);', 'ended while it was loaded'],
];

for (const [name, source, cause] of UNUSABLE) {
  test(`when the file of the pool's workers ${name}, a flush says so and the store can be closed`, async (t) => {
    const folder = new StoreFolder(t);
    const file = join(folder.parent, 'pool.mjs');
    if (source !== undefined) writeFileSync(file, source);
    const restore = replaceWorker(t, 'pool', pathToFileURL(file));
    const store = await folder.open();
    const stream = await store.stream('a');
    const died = coded('ERR_MILLRACE_WORKER_DIED', file);
    await stream.appendMany(numbered(10));
    await assert.rejects(store.flush(), (error: Error) => {
      died(error);
      assert.ok(error.cause instanceof Error);
      const { code = '' } = error.cause as { code?: string };
      assert.ok(`${code} ${error.message}`.includes(cause), error.message);
      return true;
    });
    await goesOnAfterwards(folder, store, died, restore);
  });
}

test('when the file of the WAL worker is missing, the first append names it and the cause', async (t) => {
  const folder = new StoreFolder(t);
  const file = new URL('no-such.worker.js', DYING);
  const restore = replaceWorker(t, 'wal', file);
  const store = await folder.open();
  await assert.rejects(
    (await store.stream('a')).append('x'),
    coded('ERR_MILLRACE_WORKER_DIED', `WAL worker of ${fileURLToPath(file)}`, 'Cannot find module'),
  );
  await store.close();
  restore();
  const again = await folder.open();
  assert.equal(await (await again.stream('a')).append('y'), 0);
});

test('workers start from files: what is no file URL is refused by name', () => {
  for (const place of ['http://example.org/pool.mjs', 'data:text/javascript,0', 'file://elsewhere/pool.mjs']) {
    assert.throws(
      () => {
        setWorkerFiles({ pool: new URL(place) });
      },
      coded('ERR_MILLRACE_INVALID_ARGUMENT', 'pool is no file URL'),
    );
  }
});
