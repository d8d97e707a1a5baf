import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { StoreFolder } from '../support/test-store.ts';

test('who subscribes to the channels hears what a store does', async (t) => {
  const heard = new Map<string, Record<string, unknown>[]>();
  for (const name of ['append', 'flush', 'compaction', 'recovery', 'error']) {
    const messages: Record<string, unknown>[] = [];
    heard.set(name, messages);
    const listen = (message: unknown): void => {
      messages.push(message as Record<string, unknown>);
    };
    subscribe(`millrace:${name}`, listen);
    t.after(() => unsubscribe(`millrace:${name}`, listen));
  }
  const of = (name: string): Record<string, unknown>[] => heard.get(name) ?? [];
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const stream = await store.stream('s');
  for (const value of ['a', 'b']) {
    await stream.append(value);
    await store.flush();
  }
  await store.compact({ force: true });
  assert.ok(of('append').length >= 2);
  assert.deepEqual(
    of('append')
      .map(({ blockSequence }) => blockSequence)
      .slice(0, 2),
    [0, 1],
  );
  assert.deepEqual(
    of('flush').map(({ records, runs }) => [records, runs]),
    [
      [1, 1],
      [1, 1],
    ],
  );
  assert.deepEqual(
    of('compaction').map(({ kind, inputs, outputs }) => [kind, inputs, outputs]),
    [['merge', 2, 1]],
  );
  assert.deepEqual(
    of('recovery').map(({ records, damages }) => [records, damages]),
    [[0, 0]],
  );
  assert.deepEqual(of('error'), []);
  const ids = new Set([...heard.values()].flat().map(({ storeId }) => storeId));
  assert.equal(ids.size, 1);
  assert.match(String([...ids][0]), /^[0-9a-f]{32}$/);
});
