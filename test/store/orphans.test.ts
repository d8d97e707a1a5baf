/** Objects that the coordinator does not know: found, told from what only looks like them, and deleted when old. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { suite, test, type TestContext } from 'node:test';
import type { OpenOptions } from '../../src/index.ts';
import { coded, StoreFolder, texts } from '../support/test-store.ts';

const HOUR = 3_600_000;
const DISKLESS: Partial<OpenOptions> = {
  wal: false,
  diskless: { interval: 5, slotBytes: 64 * 1024 },
  compaction: false,
};
const FOREIGN = 'segments/0000000000000077-aaaaaaaaaaaa.seg';

/** The key of the object that an append made. */
async function appended(folder: StoreFolder, value: string): Promise<string> {
  const store = await folder.open(DISKLESS);
  const known = new Set((await store.objects()).map(({ key }) => key));
  await (await store.stream('values')).append(value);
  const made = (await store.objects()).find(({ key }) => !known.has(key));
  await store.close();
  return made?.key ?? assert.fail('an append makes an object');
}

function age(folder: StoreFolder, key: string, hours: number): void {
  const then = new Date(Date.now() - hours * HOUR);
  utimesSync(folder.path('objects', key), then, then);
}

interface Restored {
  readonly folder: StoreFolder;
  readonly old: string;
  readonly young: string;
}

/** A store whose metadata comes from a backup: two objects are newer, and a stranger's lies among them. */
async function restored(t: TestContext): Promise<Restored> {
  const folder = new StoreFolder(t);
  await appended(folder, 'kept');
  cpSync(folder.path('manifest'), folder.path('..', 'backup'), { recursive: true });
  const [old, young] = [await appended(folder, 'lost'), await appended(folder, 'too')];
  rmSync(folder.path('manifest'), { recursive: true });
  cpSync(folder.path('..', 'backup'), folder.path('manifest'), { recursive: true });
  writeFileSync(folder.path('objects', FOREIGN), 'somebody else wrote this '.repeat(10));
  age(folder, old, 25);
  age(folder, FOREIGN, 25);
  return { folder, old, young };
}

suite('orphans', () => {
  test('are listed by a dry run, which deletes nothing, also while nobody may write', async (t) => {
    const { folder, old, young } = await restored(t);
    const store = await folder.open({ readOnly: true });
    const report = await store.removeOrphans({ dryRun: true });
    assert.deepEqual(
      report.listed.map(({ key }) => key),
      [old],
    );
    assert.deepEqual([report.orphans, report.deleted, report.young, report.objects], [1, 0, 1, 4]);
    const metrics = store.metrics().split('\n');
    assert.ok(
      metrics.includes('millrace_orphans 1') && metrics.includes(`millrace_orphan_bytes ${report.orphanBytes}`),
    );
    assert.deepEqual(report.foreign, [FOREIGN]);
    for (const key of [old, young, FOREIGN]) assert.ok(existsSync(folder.path('objects', key)));
    await assert.rejects(store.removeOrphans(), coded('ERR_MILLRACE_READ_ONLY'));
  });

  test('are deleted once they are old; young, known and foreign objects stay', async (t) => {
    const { folder, old, young } = await restored(t);
    const store = await folder.open(DISKLESS);
    assert.equal((await store.removeOrphans()).deleted, 1);
    assert.ok(!existsSync(folder.path('objects', old)));
    for (const key of [young, FOREIGN]) assert.ok(existsSync(folder.path('objects', key)), key);
    assert.deepEqual(await texts((await store.stream('values')).read()), ['kept']);
    assert.deepEqual((await store.verify()).problems, []);
    age(folder, young, 2);
    assert.equal((await store.removeOrphans({ minAge: HOUR })).deleted, 1);
    assert.equal((await store.removeOrphans({ minAge: HOUR })).orphans, 0);
  });

  test('are not looked for below an age at which an object may still be on its way', async (t) => {
    const store = await new StoreFolder(t).open(DISKLESS);
    for (const minAge of [0, HOUR - 1, -1, Number.NaN, Infinity]) {
      await assert.rejects(store.removeOrphans({ minAge }), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'minAge'));
    }
  });

  test('of a store of another id, at the same place by mistake, are kept', async (t) => {
    const [mine, other] = [new StoreFolder(t), new StoreFolder(t)];
    await appended(mine, 'mine');
    const key = await appended(other, 'other');
    cpSync(other.path('objects', key), mine.path('objects', key));
    age(mine, key, 48);
    const report = await (await mine.open(DISKLESS)).removeOrphans();
    assert.deepEqual([report.foreign, report.orphans, report.deleted], [[key], 0, 0]);
  });

  test('in the making, left by a killed writer, are removed two hours later and not before', async (t) => {
    const folder = new StoreFolder(t);
    const key = await appended(folder, 'kept');
    const [stale, fresh] = [`${key}.0011aabb.tmp`, `${key}.2233ccdd.tmp`];
    const store = await folder.open(DISKLESS);
    for (const name of [stale, fresh]) writeFileSync(folder.path('objects', name), 'half');
    age(folder, stale, 3);
    assert.equal((await store.removeOrphans({ dryRun: true })).unfinished, 1);
    assert.ok(existsSync(folder.path('objects', stale)));
    assert.equal((await store.removeOrphans()).unfinished, 1);
    assert.deepEqual(
      [stale, fresh].map((name) => existsSync(folder.path('objects', name))),
      [false, true],
    );
  });
});

suite('an object', () => {
  test('is described with what it holds of which stream', async (t) => {
    const folder = new StoreFolder(t);
    const key = await appended(folder, 'value');
    const store = await folder.open(DISKLESS);
    const { state, bytes, storedBytes, runs, jobId } = await store.describeObject(key);
    assert.deepEqual([state, storedBytes, jobId], ['committed', bytes, undefined]);
    assert.deepEqual(
      runs.map(({ stream, firstOffset, endOffset }) => [stream, firstOffset, endOffset]),
      [['values', 0, 1]],
    );
    for (const unknown of ['', 'x', FOREIGN]) {
      await assert.rejects(store.describeObject(unknown), coded('ERR_MILLRACE_OBJECT_NOT_FOUND'));
    }
  });
});
