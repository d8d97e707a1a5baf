import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SeededRandom } from '../../src/base/random.ts';
import { CachingObjectStore } from '../../src/object/caching-object-store.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import { MeteredObjectStore } from '../../src/object/metered-object-store.ts';
import { objectStoreContract, patternBytes, putObject, withCode } from '../../src/testing/object-store-contract.ts';
import { FaultyObjectStore } from '../../src/testing/faulty-object-store.ts';

const BLOCK = 1000;
const OBJECT_BYTES = 10_500;

for (const maxBytes of [0, 5_000, 1_000_000]) {
  objectStoreContract(`caching ${maxBytes} bytes over memory`, async () => {
    const store = new CachingObjectStore(new MemoryObjectStore(), { maxBytes, blockBytes: BLOCK });
    return { store, dispose: () => store.close() };
  });
}

interface Fixture {
  readonly memory: MemoryObjectStore;
  readonly metered: MeteredObjectStore;
  readonly store: CachingObjectStore;
}

async function fixture(options: { maxBytes?: number; maxFetchBytes?: number } = {}): Promise<Fixture> {
  const memory = new MemoryObjectStore();
  await putObject(memory, 'k', patternBytes(OBJECT_BYTES));
  const metered = new MeteredObjectStore(memory);
  const store = new CachingObjectStore(metered, { maxBytes: 100_000, blockBytes: BLOCK, ...options });
  return { memory, metered, store };
}

function expected(position: number, length: number): Buffer {
  return Buffer.from(patternBytes(OBJECT_BYTES).subarray(position, position + length));
}

test('a second read of the same blocks asks nobody', async () => {
  const { metered, store } = await fixture();
  assert.deepEqual(Buffer.from(await store.read('k', 900, 200)), expected(900, 200));
  assert.deepEqual(Buffer.from(await store.read('k', 0, 2000)), expected(0, 2000));
  assert.equal(metered.counters.read.calls, 1);
  assert.equal(metered.counters.size.calls, 1);
  assert.equal(store.counters.hits, 2);
});

test('the last, shorter block is fetched and cached as it is', async () => {
  const { metered, store } = await fixture();
  assert.deepEqual(Buffer.from(await store.read('k', 10_400, 100)), expected(10_400, 100));
  assert.equal(metered.counters.read.bytes, 500);
  assert.equal(store.cachedBytes, 500);
});

test('reads of one tick are one request per run of neighbouring blocks', async () => {
  const { metered, store } = await fixture();
  await store.size('k');
  const ranges = [
    [0, 500],
    [1500, 100],
    [2999, 2],
    [7000, 10],
    [600, 100],
    [3500, 400],
  ] as const;
  const results = await Promise.all(ranges.map(([position, length]) => store.read('k', position, length)));
  for (const [index, [position, length]] of ranges.entries()) {
    assert.deepEqual(Buffer.from(results[index] ?? []), expected(position, length));
  }
  assert.equal(metered.counters.read.calls, 2, 'blocks 0-3, and block 7');
  assert.equal(store.counters.joined, 2);
});

test('one request never asks for more than its bound', async () => {
  const { metered, store } = await fixture({ maxFetchBytes: 3 * BLOCK });
  assert.deepEqual(Buffer.from(await store.read('k', 0, OBJECT_BYTES)), expected(0, OBJECT_BYTES));
  assert.equal(metered.counters.read.calls, 4);
});

test('many readers of a block that is on its way share one request', async () => {
  const { metered, store } = await fixture();
  const reads = await Promise.all(Array.from({ length: 50 }, () => store.read('k', 100, 100)));
  for (const bytes of reads) assert.deepEqual(Buffer.from(bytes), expected(100, 100));
  assert.equal(metered.counters.read.calls, 1);
  assert.equal(metered.counters.size.calls, 1);
});

test('a large read goes past the cache and pushes nothing out', async () => {
  const { metered, store } = await fixture({ maxBytes: 8_000 });
  await store.read('k', 0, 100);
  assert.deepEqual(Buffer.from(await store.read('k', 500, 5000)), expected(500, 5000));
  assert.equal(store.counters.bypassed, 1);
  await store.read('k', 0, 100);
  assert.equal(metered.counters.read.calls, 2);
});

test('the bytes held stay within the bound', async () => {
  const { store } = await fixture({ maxBytes: 4_000 });
  for (let position = 0; position < 10_000; position += 500) {
    await store.read('k', position, 500);
    assert.ok(store.cachedBytes <= 4_000);
  }
  assert.ok(store.cachedBytes > 2_000);
});

test('a failed fetch fails its readers, and is not remembered', async () => {
  const { memory } = await fixture();
  const faulty = new FaultyObjectStore(memory, new SeededRandom(1), {});
  const store = new CachingObjectStore(faulty, { maxBytes: 100_000, blockBytes: BLOCK });
  await store.size('k');
  faulty.setRates({ unavailable: 1 });
  const failing = [store.read('k', 0, 10), store.read('k', 5, 10)];
  for (const read of failing) await assert.rejects(read, withCode('ERR_MILLRACE_UNAVAILABLE'));
  assert.equal(faulty.injected.unavailable, 1, 'both waited for one request');
  faulty.setRates({});
  assert.deepEqual(Buffer.from(await store.read('k', 0, 10)), expected(0, 10));
});

test('a body that is cut short is never cached', async () => {
  const { memory } = await fixture();
  const faulty = new FaultyObjectStore(memory, new SeededRandom(1), { shortBody: 1 });
  const store = new CachingObjectStore(faulty, { maxBytes: 100_000, blockBytes: BLOCK });
  await assert.rejects(store.read('k', 0, 10), withCode('ERR_MILLRACE_SEGMENT_CORRUPT'));
  faulty.setRates({});
  assert.deepEqual(Buffer.from(await store.read('k', 0, 10)), expected(0, 10));
});

test('an object deleted behind the cache is noticed by the next fetch', async () => {
  const { memory, store } = await fixture();
  await store.read('k', 0, 10);
  await memory.delete(['k']);
  await assert.rejects(store.read('k', 5000, 10), withCode('ERR_MILLRACE_OBJECT_NOT_FOUND'));
  assert.equal(await store.size('k'), undefined);
});

test('a caller who gives up does not take the block from the others', async () => {
  const { store } = await fixture();
  await store.size('k');
  const controller = new AbortController();
  const givenUp = store.read('k', 0, 10, controller.signal);
  const waiting = store.read('k', 0, 10);
  controller.abort();
  await assert.rejects(givenUp, withCode('ERR_MILLRACE_ABORTED'));
  assert.deepEqual(Buffer.from(await waiting), expected(0, 10));
});

test('any mix of concurrent reads returns exactly the bytes of the object', async () => {
  const range = fc.tuple(fc.integer({ min: 0, max: OBJECT_BYTES }), fc.integer({ min: 0, max: 4000 }));
  const reads = fc.array(fc.array(range, { maxLength: 8 }), { maxLength: 8 });
  const property = fc.asyncProperty(reads, fc.integer({ min: 0, max: 20_000 }), async (ticks, maxBytes) => {
    const { store } = await fixture({ maxBytes });
    for (const ranges of ticks) {
      await Promise.all(
        ranges.map(async ([position, length]) => {
          const fitting = Math.min(length, OBJECT_BYTES - position);
          assert.deepEqual(Buffer.from(await store.read('k', position, fitting)), expected(position, fitting));
        }),
      );
    }
    assert.ok(store.cachedBytes <= maxBytes);
  });
  await fc.assert(property);
});
