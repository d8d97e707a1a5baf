import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { allocatePages } from '../../src/base/page-memory.ts';
import { releaseMemory } from '../../src/base/release-memory.ts';

const PIECE_BYTES = 65_536;

test('memory is freed at once, however much there is of it', async () => {
  releaseMemory(Buffer.allocUnsafeSlow(PIECE_BYTES));
  // The first one opens the way, which takes a turn.
  await turn();
  await turn();
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  // 256 MiB: the collector lets tens of MiB gather.
  for (let piece = 0; piece < 4_096; piece += 1) {
    const memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
    releaseMemory(memory.subarray(10, 20));
    assert.equal(memory.length, 0);
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  assert.ok(most < 16 * PIECE_BYTES, `${most} bytes were held`);
});

test('memory that others may use stays', () => {
  const pooled = Buffer.from('one of the small buffers that share memory');
  const shared = new Uint8Array(new SharedArrayBuffer(8)).fill(7);
  const pages = allocatePages(65_536);
  for (const bytes of [pooled, shared, pages]) releaseMemory(bytes);
  assert.equal(pooled.toString(), 'one of the small buffers that share memory');
  assert.deepEqual([...shared], new Array(8).fill(7));
  assert.equal(pages.length, 65_536);
});

test('what was released before may be released again', () => {
  const memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
  releaseMemory(memory);
  assert.doesNotThrow(() => releaseMemory(memory));
});
