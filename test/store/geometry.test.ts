/** Opening with another ring than the WAL files have. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Store } from '../../src/index.ts';
import { coded, numbered, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

const SLOT = 64 * 1024;

/** A store whose ring holds records that are in no segment, as a killed process leaves one. */
async function killedStore(folder: StoreFolder): Promise<void> {
  const store = await folder.open();
  const stream = await store.stream('a', { compression: 'none' });
  await stream.appendMany(numbered(100));
  await store.flush();
  await stream.appendMany(numbered(100, 'record ', 100));
  await stream.storeOffset('billing', 150, { durable: true });
  assert.equal((await stream.publisher('p').append(7, 'record 200')).offset, 200);
  // Closing would flush: a copy of the files is what a kill leaves.
  const copy = `${folder.dir} copy`;
  cpSync(folder.dir, copy, { recursive: true });
  await store.close();
  rmSync(folder.dir, { recursive: true });
  renameSync(copy, folder.dir);
}

async function assertWhole(store: Store): Promise<void> {
  const stream = await store.stream('a');
  assert.deepEqual(await texts(stream.read()), numbered(201));
  assert.equal(await stream.queryOffset('billing'), 150);
  assert.equal(await stream.publisher('p').lastPublishingId(), 7);
  assert.deepEqual((await store.verify()).problems, []);
}

function walFiles(folder: StoreFolder): number[] {
  return readdirSync(folder.path('wal')).map((name) => statSync(folder.path('wal', name)).size);
}

test('the WAL files take the geometry that is asked for, and nothing in them is lost', async (t) => {
  const folder = new StoreFolder(t);
  await killedStore(folder);
  for (const [slots, slotBytes] of [
    [3, SLOT],
    [2, 2 * SLOT],
    [5, 4 * SLOT],
    [2, SLOT],
  ] as const) {
    const store = await folder.open({ wal: { ...SMALL_WAL, slots, slotBytes } });
    const { ring } = store.stats();
    assert.deepEqual([ring?.slots, ring?.slotBytes], [slots, slotBytes]);
    assert.deepEqual(
      walFiles(folder),
      Array.from({ length: slots }, () => slotBytes),
    );
    await assertWhole(store);
    const other = await store.stream('other');
    for (let index = 0; index < 60; index += 1) await other.append(Buffer.alloc(6_000));
    await store.close();
  }
  const store = await folder.open();
  assert.equal((await (await store.stream('other')).info()).records, 240);
});

test('without a geometry the one of the files stays', async (t) => {
  const folder = new StoreFolder(t);
  await killedStore(folder);
  for (const wal of [undefined, {}, { slots: 2 }, { slotBytes: SLOT }, { flushInterval: 1_000 }]) {
    const store = await folder.open(wal === undefined ? {} : { wal });
    const { ring } = store.stats();
    assert.deepEqual([ring?.slots, ring?.slotBytes], [2, SLOT]);
    await store.close();
  }
});

test('the largest record is bound by the ring that there is, whatever the options say', async (t) => {
  const folder = new StoreFolder(t);
  await (await folder.open()).close();
  const store = await folder.open({ wal: {} });
  const refused = coded('ERR_MILLRACE_RECORD_TOO_LARGE', 'maxRecordBytes');
  await assert.rejects((await store.stream('a')).append(Buffer.alloc(60_000)), refused);
  await store.close();
  const tooMuch = coded('ERR_MILLRACE_INVALID_ARGUMENT', 'maxRecordBytes', 'slotBytes');
  await assert.rejects(folder.open({ wal: {}, maxRecordBytes: 60_000 }), tooMuch);
  const larger = await folder.open({ wal: { slotBytes: 2 * SLOT }, maxRecordBytes: 60_000 });
  assert.equal(await (await larger.stream('a')).append(Buffer.alloc(60_000)), 0);
});

test('files of the log that were never finished are gone once the store was opened, strangers stay', async (t) => {
  const folder = new StoreFolder(t);
  await (await folder.open()).close();
  const names = [
    'lane-000-slot-001.wal.tmp',
    'lane-002-slot-000.wal.tmp',
    'lane-000.clean.tmp',
    'lane-002.clean.tmp',
    'notes.tmp',
  ];
  for (const name of names) writeFileSync(join(folder.dir, 'wal', name), 'x');
  await (await folder.open({ readOnly: true })).close();
  for (const name of names) assert.ok(existsSync(join(folder.dir, 'wal', name)), 'a reader leaves everything alone');
  await (await folder.open()).close();
  const left = names.filter((name) => existsSync(join(folder.dir, 'wal', name)));
  assert.deepEqual(left, ['notes.tmp']);
});

test('a geometry that no ring can have is refused before anything is touched', async (t) => {
  const folder = new StoreFolder(t);
  for (const wal of [
    { slots: 1 },
    { slots: 65 },
    { slots: 2.5 },
    { slotBytes: 1_000 },
    { slotBytes: SLOT + 1 },
    { slotBytes: 2 ** 30 },
    { slots: 64, slotBytes: 512 * 2 ** 20 },
  ]) {
    await assert.rejects(folder.open({ wal }), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'wal.slot'));
    assert.ok(!existsSync(folder.dir), JSON.stringify(wal));
  }
});

test('a crash at any step of the change leaves a store that opens whole, and with what is asked for', async (t) => {
  const folder = new StoreFolder(t);
  await killedStore(folder);
  const { dir } = folder;
  const whole = join(folder.parent, 'whole');
  cpSync(dir, whole, { recursive: true });
  const store = await folder.open({ wal: { ...SMALL_WAL, slots: 3 } });
  const changed = join(folder.parent, 'changed');
  cpSync(dir, changed, { recursive: true });
  await store.close();
  /** Everything is flushed, the old files are still there. */
  const flushed = (): void => {
    cpSync(changed, dir, { recursive: true });
    rmSync(folder.path('wal'), { recursive: true });
    cpSync(join(whole, 'wal'), folder.path('wal'), { recursive: true });
  };
  const steps: Record<string, () => void> = {
    'nothing done yet': () => {
      cpSync(whole, dir, { recursive: true });
    },
    'flushed, new folder not begun': flushed,
    'new folder begun': () => {
      flushed();
      mkdirSync(folder.path('wal.new'));
      writeFileSync(folder.path('wal.new', 'lane-000-slot-000.wal.tmp'), Buffer.alloc(1_000));
    },
    'new folder complete': () => {
      flushed();
      cpSync(join(changed, 'wal'), folder.path('wal.new'), { recursive: true });
    },
    'between the renames': () => {
      flushed();
      renameSync(folder.path('wal'), folder.path('wal.old'));
      cpSync(join(changed, 'wal'), folder.path('wal.new'), { recursive: true });
    },
    'old folder still there': () => {
      cpSync(changed, dir, { recursive: true });
      cpSync(join(whole, 'wal'), folder.path('wal.old'), { recursive: true });
    },
    'old folder half removed': () => {
      cpSync(changed, dir, { recursive: true });
      mkdirSync(folder.path('wal.old'));
    },
  };
  for (const [step, arrange] of Object.entries(steps)) {
    for (const slots of [2, 3]) {
      rmSync(dir, { recursive: true });
      arrange();
      const again = await folder.open({ wal: { ...SMALL_WAL, slots } });
      await assertWhole(again);
      assert.equal(again.stats().ring?.slots, slots, step);
      assert.equal(await (await again.stream('a')).append('record 201'), 201);
      await again.close();
      assert.deepEqual(
        readdirSync(dir).filter((name) => name.startsWith('wal')),
        ['wal'],
        step,
      );
      const last = await folder.open({ wal: {} });
      assert.deepEqual(await texts((await last.stream('a')).read()), numbered(202), step);
      await last.close();
    }
  }
});
