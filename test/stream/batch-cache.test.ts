import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { BatchCache } from '../../src/stream/batch-cache.ts';

const MAX_BYTES = 100;

function batch(): RecordBatch {
  return RecordBatch.decode(new Uint8Array(0), { name: '', baseOffset: 0 }, 0, 0);
}

/** As a point read does. Returns whether the chunk was there. */
function ask(cache: BatchCache, name: string, bytes: number): boolean {
  if (cache.get(name) !== undefined) return true;
  if (cache.wasAskedFor(name)) cache.keep(name, batch(), bytes);
  else cache.passed(name, bytes);
  return false;
}

test('a chunk is there from the third time on that it is asked for', () => {
  const cache = new BatchCache(MAX_BYTES);
  assert.deepEqual([ask(cache, 'a', 10), ask(cache, 'a', 10), ask(cache, 'a', 10)], [false, false, true]);
});

test('reads here and there push out nothing that others come back to', () => {
  const cache = new BatchCache(MAX_BYTES);
  for (const _ of [1, 2]) ask(cache, 'a', 50);
  for (let index = 0; index < 1_000; index += 1) ask(cache, `once ${index}`, 50);
  assert.equal(ask(cache, 'a', 50), true);
});

test('what was asked for longer ago than the cache reaches back is forgotten', () => {
  const cache = new BatchCache(MAX_BYTES);
  ask(cache, 'a', 50);
  ask(cache, 'b', 50);
  ask(cache, 'c', 50);
  assert.equal(cache.wasAskedFor('a'), false);
  assert.equal(cache.wasAskedFor('c'), true);
});

test('a chunk that could not be read, or that somebody keeps meanwhile, is not remembered as read', () => {
  const cache = new BatchCache(MAX_BYTES);
  assert.equal(cache.wasAskedFor('a'), false);
  cache.failed('a');
  assert.equal(cache.wasAskedFor('a'), false);
  assert.equal(cache.wasAskedFor('a'), true);
  cache.passed('a', 10);
  assert.equal(cache.wasAskedFor('a'), false);
});

test('a chunk larger than the cache is never kept', () => {
  const cache = new BatchCache(MAX_BYTES);
  for (let index = 0; index < 5; index += 1) assert.equal(ask(cache, 'a', MAX_BYTES + 1), false);
});

test('the cache holds no more bytes than it may, and of those it may hold the latest used', () => {
  const asked = fc.array(fc.tuple(fc.nat(12), fc.integer({ min: 1, max: 40 })), { maxLength: 200 });
  fc.assert(
    fc.property(asked, (calls) => {
      const cache = new BatchCache(MAX_BYTES);
      const sizes = new Map<string, number>();
      let kept: string[] = [];
      for (const [number, size] of calls) {
        const name = String(number);
        const bytes = sizes.get(name) ?? size;
        sizes.set(name, bytes);
        const wasKept = kept.includes(name);
        if (wasKept) kept = [...kept.filter((other) => other !== name), name];
        assert.equal(cache.get(name) !== undefined, wasKept);
        if (wasKept) continue;
        if (!cache.wasAskedFor(name)) {
          cache.passed(name, bytes);
          continue;
        }
        cache.keep(name, batch(), bytes);
        kept.push(name);
        const total = (): number => kept.reduce((sum, each) => sum + (sizes.get(each) ?? 0), 0);
        while (total() > MAX_BYTES) kept.shift();
      }
    }),
  );
});

test('a chunk that two have read at once counts once', () => {
  const cache = new BatchCache(MAX_BYTES);
  for (let round = 0; round < 10; round += 1) {
    const name = `read twice ${round}`;
    cache.wasAskedFor(name);
    for (const _ of [1, 2]) cache.passed(name, 50);
  }
  cache.wasAskedFor('a');
  cache.passed('a', 50);
  assert.equal(cache.wasAskedFor('a'), true);
});
