/** A store whose segments are not in its directory, opened as if they were, or at another place than they are. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { coded, numbered, StoreFolder, texts } from '../support/test-store.ts';

for (const wal of ['with', 'without'] as const) {
  test(`a store ${wal} a WAL is not written to where none of its segments is`, async (t) => {
    const work = new StoreFolder(t);
    const options = wal === 'with' ? {} : { wal: false as const };
    const objects = join(work.parent, 'elsewhere');
    const store = await work.open({ ...options, objects });
    await (await store.stream('s')).appendMany(numbered(10));
    await store.close();

    const refused = coded('ERR_MILLRACE_OBJECT_NOT_FOUND', 'option objects');
    await assert.rejects(work.open({ ...options }), refused);
    await assert.rejects(work.open({ ...options, objects: join(work.parent, 'wrong') }), refused);
    const reader = await work.open({ dir: work.dir, readOnly: true });
    assert.equal((await reader.streams()).length, 1);

    const again = await work.open({ ...options, objects });
    assert.deepEqual(await texts((await again.stream('s')).read()), numbered(10));
  });
}

test('a store that lost its only segment opens when told to salvage', async (t) => {
  const work = new StoreFolder(t);
  const store = await work.open();
  await (await store.stream('s')).appendMany(numbered(10));
  await store.close();
  rmSync(work.path('objects', 'segments'), { recursive: true });
  await assert.rejects(work.open(), coded('ERR_MILLRACE_OBJECT_NOT_FOUND', 'salvage'));
  const salvaged = await work.open({ salvage: true });
  assert.equal(await (await salvaged.stream('s')).append('goes on'), 10);
});
