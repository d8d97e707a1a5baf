/** Where a backup may go, and when it says that it was made. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite, test } from 'node:test';
import { backups } from '../../src/index.ts';
import { describeDirectory } from '../../src/object/directory-component.ts';
import { coded, numbered, StoreFolder } from '../support/test-store.ts';

suite('backup targets', () => {
  test('a directory of a store, its own or another, is none', async (t) => {
    const work = new StoreFolder(t);
    const other = join(work.parent, 'other');
    await (await work.open({ dir: other })).close();
    const store = await work.open();
    await (await store.stream('s')).appendMany(numbered(10));
    await store.flush();
    const link = join(work.parent, 'link');
    symlinkSync(work.path('objects'), link);
    mkdirSync(work.path('mine'));
    const inside = coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', 'store');
    for (const target of [work.dir, work.path('mine', 'backups'), join(link, 'deep'), link, other]) {
      await assert.rejects(store.backup(target, { keep: 1 }), inside, target);
      assert.deepEqual([existsSync(join(target, 'backups')), existsSync(join(other, 'segments'))], [false, false]);
    }
    await assert.rejects(store.backup(work.path('objects')), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'the store'));
    assert.deepEqual((await store.verify()).problems, []);
    const around = await store.backup(work.parent);
    assert.equal(around.records, 10);
  });

  test('the object store that the store itself writes to is none', async (t) => {
    const work = new StoreFolder(t);
    const objects = describeDirectory(join(work.parent, 'objects'));
    const store = await work.open({ objects });
    await (await store.stream('s')).appendMany(numbered(10));
    await assert.rejects(store.backup(objects), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'the store'));
    await assert.rejects(
      store.backup(describeDirectory(join(work.parent, 'objects'))),
      coded('ERR_MILLRACE_INVALID_ARGUMENT', 'the store'),
    );
  });

  test('one backup at a time goes into a directory', async (t) => {
    const work = new StoreFolder(t);
    const target = join(work.parent, 'backups');
    const store = await work.open();
    await (await store.stream('s')).appendMany(numbered(10));
    const [first, second] = await Promise.allSettled([store.backup(target), store.backup(target)]);
    assert.equal(first.status, 'fulfilled');
    assert.ok(second.status === 'rejected');
    coded('ERR_MILLRACE_LOCKED', 'another backup')(second.reason);
  });

  test('it says when it was made, even of a store that has been idle', async (t) => {
    const work = new StoreFolder(t);
    const target = join(work.parent, 'backups');
    const store = await work.open();
    await (await store.stream('s')).appendMany(numbered(10));
    await store.backup(target);
    await sleep(5);
    const before = Date.now();
    await store.backup(target);
    const [, second] = await backups(target);
    assert.ok(second !== undefined && second.createdAt >= before, `made at ${second?.createdAt}, not before ${before}`);
  });
});
