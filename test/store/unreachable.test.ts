/** A store with a WAL closes while its object store cannot be reached, and the next opening flushes what it left. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coded, numbered, StoreFolder, texts } from '../support/test-store.ts';
import { unreachable } from '../support/unreachable-object-store.ts';

for (const sealed of [false, true]) {
  test(`closing waits for no object store, ${sealed ? 'a sealed filling' : 'an open filling'} stays in the WAL`, async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open({ objects: unreachable });
    const stream = await store.stream('a');
    await stream.appendMany(numbered(10));
    const flushed = sealed ? assert.rejects(store.flush(), coded('ERR_MILLRACE_UNAVAILABLE')) : undefined;
    await stream.storeOffset('reader', 4);
    const late = stream.append('record 10');
    await store.close();
    await flushed;
    assert.equal(await late, 10);
    const again = await folder.open();
    await again.flush();
    const restored = await again.stream('a');
    assert.deepEqual(await texts(restored.read()), numbered(11));
    assert.equal(await restored.queryOffset('reader'), 4);
  });
}

test('appends that found no room in the ring are refused when closing gives the flush up', async (t) => {
  const store = await new StoreFolder(t).open({ objects: unreachable });
  const stream = await store.stream('a');
  const outcomes = Promise.allSettled(Array.from({ length: 60 }, () => stream.append('x'.repeat(5_000))));
  await store.close();
  const refused = (await outcomes).filter((outcome) => outcome.status === 'rejected');
  assert.ok(refused.length > 20 && refused.length < 60);
  for (const { reason } of refused) coded('ERR_MILLRACE_UNAVAILABLE')(reason);
});
