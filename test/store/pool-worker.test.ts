/** How the pool and a worker of it start and end. What they do is tested where the jobs are. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { setWorkerFiles } from '../../src/index.ts';
import { WorkerGroup } from '../../src/store/worker-group.ts';
import { workerFiles } from '../../src/thread/worker-files.ts';
import { StoreFolder } from '../support/test-store.ts';

// Tests run from `dist/test/store`.
const ENTRY = new URL('../../workers/pool.worker.js', import.meta.url);

const TELLING = `
  const { parentPort } = require('node:worker_threads');
  const { readlinkSync } = require('node:fs');
  const { basename } = require('node:path');
  const { getPriority } = require('node:os');
  import(${JSON.stringify(ENTRY.href)}).then(({ run }) => {
    const niceness = getPriority(Number(basename(readlinkSync('/proc/thread-self'))));
    parentPort.postMessage({ niceness, run: typeof run });
  });
`;

test('a pool worker steps back behind the thread that started it, as far as there is room', async (context) => {
  if (process.platform !== 'linux') {
    context.skip('threads have no priority of their own here');
    return;
  }
  const worker = new Worker(TELLING, { eval: true });
  const [told] = (await once(worker, 'message')) as [{ niceness: number; run: string }];
  await worker.terminate();
  assert.equal(told.run, 'function');
  assert.equal(told.niceness, Math.min(19, getPriority() + 10));
});

test('a pool worker loads nothing before it steps back', () => {
  const source = readFileSync(fileURLToPath(ENTRY), 'utf8');
  const loaded = [...source.matchAll(/^(?:import|export)\b[^;]*?["']([^"']+)["'];/gm)].map(([, name]) => name);
  assert.deepEqual(loaded, ['../src/base/thread-priority.js']);
});

test('the library of the pool is loaded for the first job, and not to import, open, append and read', async (t) => {
  const isLoaded = (): boolean =>
    Object.keys(createRequire(import.meta.url).cache).some((file) => /[\\/]node_modules[\\/]piscina[\\/]/.test(file));
  const store = await new StoreFolder(t).open();
  const stream = await store.stream('a');
  const offset = await stream.append('x');
  assert.equal((await stream.get(offset))?.value?.toString(), 'x');
  assert.equal(isLoaded(), false);
  await store.flush();
  assert.ok(isLoaded());
});

test('a pool that is closed refuses jobs, those too for which it was still loaded', async (t) => {
  const file = join(new StoreFolder(t).parent, 'pool.mjs');
  writeFileSync(file, 'export const run = ({ value }) => value + 1;');
  const { pool } = workerFiles;
  setWorkerFiles({ pool: pathToFileURL(file) });
  t.after(() => {
    setWorkerFiles({ pool });
  });
  const [used, unused] = [new WorkerGroup(1, 1), new WorkerGroup(1, 1)];
  assert.equal(await used.run({ value: 1 }), 2);
  const early = unused.run({ value: 1 });
  await Promise.all([used.close(), unused.close(), assert.rejects(early, /closed/)]);
  for (const group of [used, unused]) await assert.rejects(group.run({ value: 1 }), /closed/);
});
