/** Stores in a directory whose objects are in another place. */
import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli, succeed } from './cli-process.ts';
import { storeWith, withStore } from './store-fixture.ts';

test('objects move to another place when they are copied, and not before', async () => {
  const fixture = await storeWith({ values: ['one', 'two'] });
  try {
    const { store } = fixture;
    const own = join(store, 'objects');
    const place = join(fixture.path, 'place');
    const open = withStore({ dir: store, objects: place }, async () => undefined);
    await assert.rejects(open, {
      code: 'ERR_MILLRACE_OBJECT_NOT_FOUND',
      message: /copy what is below .*objects there/,
    });
    assert.equal(await succeed(['read', store, 'values']), 'one\ntwo\n');

    cpSync(own, place, { recursive: true });
    await succeed(['ingest', store, 'values', '--objects', place], 'three\n');
    rmSync(own, { recursive: true });
    assert.equal(await succeed(['read', store, 'values', '--objects', place]), 'one\ntwo\nthree\n');
    assert.match(await succeed(['verify', store, '--objects', place]), /^intact: 3 records/);

    const lost = await runCli(['read', store, 'values']);
    assert.equal(lost.code, 1);
    assert.match(lost.stderr, /ERR_MILLRACE_OBJECT_NOT_FOUND: .*open the store with the objects option/);
  } finally {
    fixture.remove();
  }
});
