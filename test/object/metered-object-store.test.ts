import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import { MeteredObjectStore } from '../../src/object/metered-object-store.ts';
import { objectStoreContract, patternBytes, putObject } from '../../src/testing/object-store-contract.ts';
import { FaultyObjectStore } from '../../src/testing/faulty-object-store.ts';

objectStoreContract('metered over memory', async () => {
  const store = new MeteredObjectStore(new MemoryObjectStore());
  return { store, dispose: () => store.close() };
});

test('calls, bytes and objects are counted by operation', async () => {
  const store = new MeteredObjectStore(new MemoryObjectStore());
  await putObject(store, 'a', patternBytes(100), patternBytes(50));
  await putObject(store, 'b', patternBytes(1));
  await (await store.create('c')).abort();
  await store.read('a', 10, 40);
  await store.size('a');
  for await (const entry of store.list()) assert.ok(entry.bytes > 0);
  await store.delete(['a', 'b', '../bad']);

  const { counters } = store;
  assert.equal(counters.create.calls, 3);
  assert.deepEqual([counters.write.calls, counters.write.bytes], [3, 151]);
  assert.equal(counters.commit.calls, 2);
  assert.equal(counters.abort.calls, 1);
  assert.deepEqual([counters.read.calls, counters.read.bytes], [1, 40]);
  assert.equal(counters.size.calls, 1);
  assert.deepEqual([counters.list.calls, counters.list.objects], [1, 2]);
  assert.deepEqual([counters.delete.calls, counters.delete.objects, counters.delete.unconfirmed], [1, 2, 1]);
  assert.deepEqual(structuredClone(counters), counters, 'plain data');
});

test('failures are counted by code and move no bytes', async () => {
  const faulty = new FaultyObjectStore(new MemoryObjectStore(), new SeededRandom(1), { unavailable: 1 });
  const store = new MeteredObjectStore(faulty);
  await assert.rejects(store.read('a', 0, 1));
  await assert.rejects(store.size('a'));
  await assert.rejects(store.create('a'));
  faulty.setRates({});
  await assert.rejects(store.read('a', 0, 1));
  assert.deepEqual(store.counters.read.errors, { ERR_MILLRACE_UNAVAILABLE: 1, ERR_MILLRACE_OBJECT_NOT_FOUND: 1 });
  assert.deepEqual([store.counters.read.calls, store.counters.read.bytes], [2, 0]);
  assert.deepEqual(store.counters.size.errors, { ERR_MILLRACE_UNAVAILABLE: 1 });
});

test('an error that is not coded is counted too', async () => {
  const store = new MeteredObjectStore(new MemoryObjectStore());
  const writer = await store.create('a');
  await writer.commit();
  await assert.rejects(writer.commit());
  assert.deepEqual(store.counters.commit.errors, { UNCODED: 1 });
});
