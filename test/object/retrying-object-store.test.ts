import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { RetryingObjectStore } from '../../src/object/retrying-object-store.ts';
import type { RetryEnvironment } from '../../src/object/retry.ts';
import { objectStoreContract, patternBytes, putObject, withCode } from '../../src/testing/object-store-contract.ts';
import { FaultyObjectStore, type ObjectFault } from '../../src/testing/faulty-object-store.ts';
import type { FaultRates } from '../../src/testing/unreliable-service.ts';

const POLICY = { attempts: 40, firstDelay: 1, maxDelay: 10, maxElapsed: 1e9 };

function environmentOf(): RetryEnvironment {
  const clock = new ManualClock();
  return { clock, random: new SeededRandom(7), sleep: async (milliseconds) => clock.advance(milliseconds) };
}

function retrying(inner: ObjectStore, replayBytes?: number): RetryingObjectStore {
  const options = { policy: POLICY, environment: environmentOf() };
  return new RetryingObjectStore(inner, replayBytes === undefined ? options : { ...options, replayBytes });
}

function faulty(rates: FaultRates<ObjectFault>, seed = 1): { memory: MemoryObjectStore; store: FaultyObjectStore } {
  const memory = new MemoryObjectStore();
  return { memory, store: new FaultyObjectStore(memory, new SeededRandom(seed), rates) };
}

objectStoreContract('retrying over memory', async () => {
  const store = retrying(new MemoryObjectStore());
  return { store, dispose: () => store.close() };
});

objectStoreContract('faulty without faults', async () => {
  const { store } = faulty({});
  return { store, dispose: () => store.close() };
});

let seed = 100;
objectStoreContract('retrying over a store that fails before and after the effect', async () => {
  const rates = { unavailable: 0.1, lost: 0.1, timeoutAfterSuccess: 0.2, unconfirmed: 0.2 };
  const store = retrying(faulty(rates, (seed += 1)).store);
  return { store, dispose: () => store.close() };
});

test('an object is written again from its first byte when a write fails', async () => {
  const { memory, store } = faulty({});
  const writer = await retrying(store).create('k');
  await writer.write(patternBytes(1000, 1));
  store.setRates({ timeoutAfterSuccess: 0.7 });
  await writer.write(patternBytes(1000, 2));
  store.setRates({});
  assert.equal(await writer.commit(), 2000);
  assert.ok((store.injected.timeoutAfterSuccess ?? 0) > 0);
  const expected = Buffer.concat([patternBytes(1000, 1), patternBytes(1000, 2)]);
  assert.deepEqual(Buffer.from(await memory.read('k', 0, 2000)), expected);
});

test('a commit whose reply was lost is recognised as its own', async () => {
  for (let round = 0; round < 50; round += 1) {
    const { memory, store } = faulty({}, round);
    const writer = await retrying(store).create('k');
    await writer.write(patternBytes(5000, round));
    store.setRates({ timeoutAfterSuccess: 0.3, lost: 0.1 });
    assert.equal(await writer.commit(), 5000);
    assert.deepEqual(Buffer.from(await memory.read('k', 0, 5000)), Buffer.from(patternBytes(5000, round)));
  }
});

test('an object of somebody else is not taken for its own after a lost request', async () => {
  const { memory, store } = faulty({});
  await putObject(memory, 'k', patternBytes(100, 1));
  const writer = await retrying(store).create('k');
  await writer.write(patternBytes(100, 2));
  store.setRates({ lost: 0.5 });
  await assert.rejects(writer.commit(), withCode('ERR_MILLRACE_OBJECT_EXISTS'));
  await writer.abort();
  assert.deepEqual(Buffer.from(await memory.read('k', 0, 100)), Buffer.from(patternBytes(100, 1)));
});

test('an object too large to keep fails at the first error and leaves nothing', async () => {
  const { memory, store } = faulty({});
  const writer = await retrying(store, 1500).create('k');
  await writer.write(patternBytes(1000));
  await writer.write(patternBytes(1000));
  store.setRates({ unavailable: 1 });
  await assert.rejects(writer.commit(), withCode('ERR_MILLRACE_UNAVAILABLE'));
  assert.equal(store.injected.unavailable, 1);
  await assert.rejects(writer.write(patternBytes(1)), /AssertionError/);
  await writer.abort();
  assert.equal(await memory.size('k'), undefined);
});

test('deletes that are throttled shrink to nothing: confirmed keys are not asked for again', async () => {
  const { memory, store } = faulty({ unavailable: 0.3, unconfirmed: 0.5 });
  const keys = Array.from({ length: 200 }, (_, index) => `k/${index}`);
  for (const key of keys) await putObject(memory, key, patternBytes(1));
  const asked: number[] = [];
  const watched: ObjectStore = Object.assign(Object.create(store) as ObjectStore, {
    delete: (some: readonly string[]) => {
      asked.push(some.length);
      return store.delete(some);
    },
  });
  assert.deepEqual((await retrying(watched).delete(keys)).sort(), [...keys].sort());
  assert.ok(asked.length > 2);
  for (let index = 1; index < asked.length; index += 1) assert.ok((asked[index] ?? 0) <= (asked[index - 1] ?? 0));
  assert.ok((asked.at(-1) ?? 0) < keys.length);
});

test('a delete that is never answered confirms nothing and does not reject', async () => {
  const { store } = faulty({ unavailable: 1 });
  assert.deepEqual(await retrying(store).delete(['a', 'b']), []);
  assert.equal(store.injected.unavailable, POLICY.attempts);
});

test('a listing that breaks goes on where it was, without repeats', async () => {
  const { memory, store } = faulty({ unavailable: 0.03 }, 3);
  const keys = Array.from({ length: 30 }, (_, index) => `k/${String(index).padStart(3, '0')}`);
  for (const key of keys) await putObject(memory, key, patternBytes(1));
  const listed: string[] = [];
  for await (const entry of retrying(store).list()) listed.push(entry.key);
  assert.deepEqual(listed, keys);
  assert.ok((store.injected.unavailable ?? 0) > 0);
});

test('a read that keeps failing reports its error', async () => {
  const { memory, store } = faulty({ unavailable: 1 });
  await putObject(memory, 'k', patternBytes(10));
  await assert.rejects(retrying(store).read('k', 0, 10), withCode('ERR_MILLRACE_UNAVAILABLE'));
});
