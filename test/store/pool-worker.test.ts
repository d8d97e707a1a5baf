/** How a pool worker starts. What it does is tested where the jobs are. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

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
