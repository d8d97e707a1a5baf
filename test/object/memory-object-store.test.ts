import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import { objectStoreContract, patternBytes, putObject } from '../../src/testing/object-store-contract.ts';

objectStoreContract('memory', async () => {
  const store = new MemoryObjectStore();
  return { store, dispose: () => store.close() };
});

test('an object carries the time of its commit by the given clock', async () => {
  const clock = new ManualClock(1000);
  const store = new MemoryObjectStore(clock);
  await putObject(store, 'a', patternBytes(1));
  clock.advance(500);
  await putObject(store, 'b', patternBytes(1));
  const times: number[] = [];
  for await (const entry of store.list()) times.push(entry.modifiedAt);
  assert.deepEqual(times, [1000, 1500]);
});
