import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { backups, open, restore, type Store, verifyBackup } from '../../src/index.ts';
import { describeDirectory } from '../../src/object/directory-component.ts';
import { coded, collect, numbered, StoreFolder, texts } from '../support/test-store.ts';

class Workplace extends StoreFolder {
  readonly target: string = join(this.parent, 'backups');

  /** Restores and opens what was restored. */
  async restored(name: string, options: { backup?: number; sameStore?: boolean } = {}): Promise<Store> {
    const dir = join(this.parent, name);
    await restore(this.target, { dir, ...options });
    return this.open({ dir });
  }

  segments(): string[] {
    return readdirSync(join(this.target, 'segments')).sort();
  }
}

async function recordsOf(store: Store, name: string): Promise<(string | undefined)[]> {
  return texts((await store.stream(name)).read());
}

function damage(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

suite('backup', () => {
  test('a restored store holds what was acknowledged, and goes on from there', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    const orders = await store.stream('orders', { compression: 'none', retention: { maxBytes: 10_000_000 } });
    await orders.appendMany(numbered(1_000));
    await orders.storeOffset('billing', 41);
    await orders.publisher('till').append(7, 'published');
    await orders.trim(10);
    await (await store.stream('empty')).info();
    const report = await store.backup(work.target);
    assert.deepEqual([report.backup, report.streams, report.records], [1, 2, 991]);
    await store.close();

    const copy = await work.restored('copy');
    assert.deepEqual(
      (await copy.streams()).map(({ name }) => name),
      ['empty', 'orders'],
    );
    const again = await copy.stream('orders');
    assert.deepEqual(again.config, orders.config);
    assert.deepEqual(await texts(again.read({ onTrimmed: 'skip' })), [...numbered(990, 'record ', 10), 'published']);
    assert.equal(await again.queryOffset('billing'), 41);
    assert.equal((await again.publisher('till').append(7, 'again')).duplicate, true);
    assert.equal(await again.append('next'), 1_001);
    await copy.compact({ force: true });
    assert.deepEqual((await copy.verify()).problems, []);
  });

  test('a second backup copies only what is new, and both can be restored', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    const stream = await store.stream('s');
    await stream.appendMany(numbered(100));
    const first = await store.backup(work.target);
    assert.equal(first.copiedObjects, first.objects);
    await stream.appendMany(numbered(100, 'record ', 100));
    const second = await store.backup(work.target);
    assert.deepEqual([second.backup, second.copiedObjects, second.objects], [2, 1, first.objects + 1]);
    const third = await store.backup(work.target);
    assert.equal(third.copiedObjects, 0);
    const listed = await backups(work.target);
    assert.deepEqual(
      listed.map(({ backup, records }) => [backup, records]),
      [
        [1, 100],
        [2, 200],
        [3, 200],
      ],
    );
    assert.deepEqual(await recordsOf(await work.restored('old', { backup: 1 }), 's'), numbered(100));
    assert.deepEqual(await recordsOf(await work.restored('new'), 's'), numbered(200));
  });

  test('while appends go on, it holds all that was acknowledged before the call', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    const stream = await store.stream('s');
    let appended = 0;
    const stop = new AbortController();
    const writing = (async () => {
      while (!stop.signal.aborted) {
        await stream.appendMany(numbered(50, 'record ', appended));
        appended += 50;
      }
    })();
    for (let round = 1; round <= 2; round += 1) {
      const before = appended;
      const { records } = await store.backup(work.target);
      assert.ok(records >= before, `${records} records of ${before}`);
      const held = await recordsOf(await work.restored(`copy-${round}`), 's');
      assert.deepEqual(held, numbered(records));
    }
    stop.abort();
    await writing;
  });

  test('objects that compaction replaces stay until the copy is done', async (t) => {
    const work = new Workplace(t);
    const store = await work.open({ compaction: { deleteGrace: 0 } });
    const stream = await store.stream('s');
    for (let round = 0; round < 6; round += 1) {
      await stream.appendMany(numbered(20, 'record ', round * 20));
      await store.flush();
    }
    const merged: Promise<unknown>[] = [];
    const report = await store.backup(work.target, {
      progress: () => {
        if (merged.length === 0) merged.push(store.compact({ force: true }));
      },
    });
    await Promise.all(merged);
    assert.equal(merged.length, 1);
    assert.equal(report.objects, 6);
    assert.deepEqual((await verifyBackup(work.target)).problems, []);
    assert.deepEqual(await recordsOf(await work.restored('copy'), 's'), numbered(120));
    await store.compact();
    assert.equal(store.stats().objects.deletingBytes, 0);
  });

  test('keep removes older backups and what only they needed', async (t) => {
    const work = new Workplace(t);
    const store = await work.open({ compaction: { deleteGrace: 0 } });
    const stream = await store.stream('s');
    for (let round = 0; round < 3; round += 1) {
      await stream.appendMany(numbered(20, 'record ', round * 20));
      await store.backup(work.target);
    }
    assert.equal(work.segments().length, 3);
    await store.compact({ force: true });
    const last = await store.backup(work.target, { keep: 1 });
    assert.deepEqual([last.backup, last.removedBackups], [4, 3]);
    assert.equal(work.segments().length, 1);
    assert.deepEqual(
      (await backups(work.target)).map(({ backup }) => backup),
      [4],
    );
    assert.deepEqual(await recordsOf(await work.restored('copy'), 's'), numbered(60));
    await assert.rejects(store.backup(work.target, { keep: 0 }), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'keep'));
  });

  test('a backup that stays keeps what only it needs', async (t) => {
    const work = new Workplace(t);
    const store = await work.open({ compaction: { deleteGrace: 0 } });
    const stream = await store.stream('s');
    for (let round = 0; round < 2; round += 1) {
      await stream.appendMany(numbered(20, 'record ', round * 20));
      await store.backup(work.target);
    }
    await store.compact({ force: true });
    const last = await store.backup(work.target, { keep: 2 });
    assert.deepEqual([last.backup, last.removedBackups], [3, 1]);
    assert.equal(work.segments().length, 3, 'two of the second backup, and what they were merged into');
    for (const backup of [2, 3]) {
      assert.deepEqual(await recordsOf(await work.restored(`copy ${backup}`, { backup }), 's'), numbered(40));
    }
  });

  test('a segment that a backup which was cut short left behind is judged before it is believed', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    await (await store.stream('s')).appendMany(numbered(100));
    await store.backup(work.target);
    // As if it had been cut short in front of its last step.
    for (const name of readdirSync(join(work.target, 'backups'))) rmSync(join(work.target, 'backups', name));
    const [segment = ''] = work.segments();
    const path = join(work.target, 'segments', segment);
    damage(path, readFileSync(path).length - 20);
    const { copiedObjects } = await store.backup(work.target);
    assert.equal(copiedObjects, 1);
    assert.deepEqual((await verifyBackup(work.target)).problems, []);
  });

  test('a reader beside the writer backs up what is in segments', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    const stream = await store.stream('s');
    await stream.appendMany(numbered(30));
    await store.flush();
    await stream.append('in the log only');
    const reader = await work.open({ readOnly: true });
    assert.equal((await reader.backup(work.target)).records, 30);
    assert.deepEqual(await recordsOf(await work.restored('copy'), 's'), numbered(30));
  });

  test('a store without a WAL is restored as one', async (t) => {
    const work = new Workplace(t);
    const store = await open({ dir: work.dir, wal: false });
    await (await store.stream('s')).appendMany(numbered(10));
    await store.backup(work.target);
    await store.close();
    const dir = join(work.parent, 'copy');
    await restore(work.target, dir);
    await assert.rejects(open(dir), coded('ERR_MILLRACE_UNSUPPORTED'));
    await using copy = await open({ dir, wal: false });
    assert.deepEqual(await recordsOf(copy, 's'), numbered(10));
  });
});

suite('identity', () => {
  test('a restored store is another one: it takes neither files nor a target of the original', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    await (await store.stream('s')).append('one');
    await store.backup(work.target);
    const dir = join(work.parent, 'copy');
    const { storeId, newStoreId } = await restore(work.target, dir);
    assert.notEqual(newStoreId, storeId);
    const [segment = ''] = work.segments();
    writeFileSync(join(dir, 'objects/segments', segment), readFileSync(work.path('objects/segments', segment)));
    const copy = await work.open({ dir });
    assert.match((await copy.verify()).problems[0]?.problem ?? '', /belongs to store/);
    await assert.rejects(copy.backup(work.target), coded('ERR_MILLRACE_FOREIGN_FILE', storeId, newStoreId));
  });

  test('a store that was moved goes on with the backups of the original', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    await (await store.stream('s')).appendMany(numbered(10));
    await store.backup(work.target);
    await store.close();
    const moved = await work.restored('moved', { sameStore: true });
    await (await moved.stream('s')).append('record 10');
    const { backup, copiedObjects } = await moved.backup(work.target);
    assert.deepEqual([backup, copiedObjects], [2, 1]);
    assert.deepEqual(await recordsOf(await work.restored('copy'), 's'), numbered(11));
  });

  test('segments may be restored into an object store of their own, never into one that holds some', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    await (await store.stream('s')).appendMany(numbered(10));
    await store.backup(describeDirectory(work.target));
    const dir = join(work.parent, 'copy');
    const taken = restore(work.target, { dir, objects: work.path('objects') });
    await assert.rejects(taken, coded('ERR_MILLRACE_OBJECT_EXISTS', 'holds no segments'));
    const objects = join(work.parent, 'objects-of-copy');
    await restore(work.target, { dir, objects });
    await using copy = await open({ dir, objects });
    assert.deepEqual(await recordsOf(copy, 's'), numbered(10));
    assert.deepEqual((await store.verify()).problems, []);
  });
});

suite('refusals', () => {
  test('a directory that holds anything is not restored into', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    await store.backup(work.target);
    await assert.rejects(restore(work.target, work.dir), coded('ERR_MILLRACE_LOCKED'));
    await store.close();
    await assert.rejects(restore(work.target, work.dir), coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', 'not empty'));
    const dir = join(work.parent, 'used');
    mkdirSync(dir);
    writeFileSync(join(dir, 'notes.txt'), 'mine');
    await assert.rejects(restore(work.target, dir), coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', 'notes.txt'));
  });

  test('a target without a complete backup, or without that one, says so', async (t) => {
    const work = new Workplace(t);
    assert.deepEqual(await backups(work.target), []);
    const dir = join(work.parent, 'copy');
    await assert.rejects(restore(work.target, dir), coded('ERR_MILLRACE_BACKUP_NOT_FOUND'));
    await (await work.open()).backup(work.target);
    await assert.rejects(restore(work.target, { dir, backup: 2 }), coded('ERR_MILLRACE_BACKUP_NOT_FOUND', '2'));
    await assert.rejects(verifyBackup(work.target, { backup: 2 }), coded('ERR_MILLRACE_BACKUP_NOT_FOUND'));
  });

  test('damage is neither backed up nor restored, and verifying finds it', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    await (await store.stream('s')).appendMany(numbered(100));
    await store.backup(work.target);
    const [segment = ''] = work.segments();
    damage(join(work.target, 'segments', segment), 100);
    const { problems } = await verifyBackup(work.target);
    assert.equal(problems[0]?.where, `segments/${segment}`);
    await assert.rejects(
      restore(work.target, join(work.parent, 'copy')),
      coded('ERR_MILLRACE_SEGMENT_CORRUPT', segment),
    );
    damage(work.path('objects/segments', segment), 100);
    const other = join(work.parent, 'other');
    await assert.rejects(store.backup(other), coded('ERR_MILLRACE_SEGMENT_CORRUPT', segment));
    assert.deepEqual(await backups(other), []);
  });

  test('a backup whose head or state is damaged at any byte is refused', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    await (await store.stream('s')).append('one');
    await store.backup(work.target);
    const file = join(work.target, 'backups/0000000000000001.backup');
    const damaged = coded('ERR_MILLRACE_MANIFEST_CORRUPT', 'backups/0000000000000001.backup');
    // The last bytes may be padding, which nothing depends on.
    for (let at = 0; at < readFileSync(file).length - 8; at += 7) {
      damage(file, at);
      await assert.rejects(verifyBackup(work.target), damaged, `byte ${at}`);
      damage(file, at);
    }
    assert.deepEqual((await verifyBackup(work.target)).problems, []);
  });

  test('a restore that was cut short is no store, and is run again', async (t) => {
    const work = new Workplace(t);
    const store = await work.open();
    const stream = await store.stream('s');
    for (let round = 0; round < 8; round += 1) {
      await stream.append(`record ${round}`);
      await store.flush();
    }
    await store.backup(work.target);
    const dir = join(work.parent, 'copy');
    const stop = new AbortController();
    const cut = restore(work.target, { dir, signal: stop.signal, progress: () => stop.abort() });
    await assert.rejects(cut, coded('ERR_MILLRACE_ABORTED'));
    await assert.rejects(open(dir), coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', 'run it again'));
    await assert.rejects(open({ dir, readOnly: true }), coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', 'run it again'));
    await restore(work.target, dir);
    const copy = await work.open({ dir });
    assert.deepEqual(await recordsOf(copy, 's'), numbered(8));
    assert.equal((await collect((await copy.stream('s')).readBatches())).length > 0, true);
    assert.deepEqual((await copy.verify()).problems, []);
  });
});
