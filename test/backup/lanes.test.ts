/** Backups of a store whose streams are in lanes of other threads. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { attachProducer, restore, verifyBackup } from '../../src/index.ts';
import { ProducerWorker } from '../store/producers/producer-worker.ts';
import { numbered, StoreFolder, texts } from '../support/test-store.ts';

const TINY = { slots: 2, slotBytes: 64 * 1024 };

suite('backups of lanes', () => {
  test('what a producer in another thread had acknowledged is in the backup, and the lane goes on', async (t) => {
    const folder = new StoreFolder(t);
    const target = join(folder.parent, 'backups');
    const store = await folder.open();
    const producer = await ProducerWorker.start(store);
    t.after(() => producer.kill());
    await producer.do({ type: 'stream', name: 'lane' });
    await producer.do({ type: 'appendMany', name: 'lane', values: numbered(100) });
    await (await store.stream('own')).appendMany(numbered(10));
    const first = await store.backup(target);
    assert.equal(first.records, 110);
    await producer.do({ type: 'appendMany', name: 'lane', values: numbered(50, 'record ', 100) });
    const second = await store.backup(target);
    assert.deepEqual([second.records, second.copiedObjects], [160, 1]);
    const dir = join(folder.parent, 'copy');
    await restore(target, dir);
    const copy = await folder.open({ dir });
    assert.deepEqual(await texts((await copy.stream('lane')).read()), numbered(150));
    // The lane stayed behind: the stream is the restored store's own.
    assert.equal(await (await copy.stream('lane')).append('next'), 150);
  });

  test('lanes may come and go, and merges replace segments, while a backup is under way', async (t) => {
    const folder = new StoreFolder(t);
    const target = join(folder.parent, 'backups');
    const store = await folder.open({ compaction: { deleteGrace: 0 } });
    const streams = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of streams) {
      await (await store.stream(name)).appendMany(numbered(10));
      await store.flush();
    }
    // A turn of it at each segment that was copied, so that it falls into the backup whatever the machine.
    const turns: Promise<void>[] = [];
    const turn = async (name: string): Promise<void> => {
      const producer = await attachProducer(await store.producer(TINY));
      const stream = await producer.stream(name);
      assert.equal(await stream.appendMany(numbered(10, 'record ', 10)), 10);
      await producer.close();
      await store.compact({ force: true });
    };
    const report = await store.backup(target, {
      progress: () => {
        const name = streams[turns.length];
        if (name !== undefined) turns.push(turn(name));
      },
    });
    assert.equal(report.objects, streams.length);
    assert.equal(turns.length, streams.length);
    await Promise.all(turns);
    assert.deepEqual((await verifyBackup(target)).problems, []);
    const later = await store.backup(target);
    assert.equal(later.records, 120);
    for (const [backup, records] of [
      [report.backup, 10],
      [later.backup, 20],
    ] as const) {
      const dir = join(folder.parent, `copy-${backup}`);
      await restore(target, { dir, backup });
      const copy = await folder.open({ dir });
      for (const name of streams) {
        assert.deepEqual(await texts((await copy.stream(name)).read()), numbered(records), `backup ${backup}: ${name}`);
      }
      await copy.close();
    }
  });
});
