/** Opening a store whose WAL is damaged, when its owner says so. */
import assert from 'node:assert/strict';
import { closeSync, cpSync, openSync, renameSync, rmSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Store } from '../../src/index.ts';
import { coded, collect, numbered, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

const WAL = { ...SMALL_WAL, slots: 3 };
const SLOT_0 = 'lane-000-slot-000.wal';

/** A killed store: of each stream 5 records in segments, and 8 blocks with a record of each in the WAL. */
async function killedStore(folder: StoreFolder): Promise<void> {
  await killedAfter(folder, writeBoth);
}

async function writeBoth(store: Store): Promise<void> {
  const [a, b] = [await store.stream('a'), await store.stream('b')];
  await Promise.all([a.appendMany(numbered(5)), b.appendMany(numbered(5))]);
  await store.flush();
  for (let offset = 5; offset < 13; offset += 1)
    await Promise.all([a, b].map((stream) => stream.append(`record ${offset}`)));
}

/** Leaves what a process leaves that is killed behind its last acknowledgement. */
async function killedAfter(folder: StoreFolder, write: (store: Store) => Promise<void>): Promise<void> {
  const store = await folder.open({ wal: WAL });
  await write(store);
  const copy = join(folder.parent, 'copy');
  cpSync(folder.dir, copy, { recursive: true });
  await store.close();
  rmSync(folder.dir, { recursive: true });
  renameSync(copy, folder.dir);
}

function overwrite(path: string, position: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, position);
  closeSync(file);
}

test('a damaged block is refused by name, skipped by a salvage, and its offsets are never given out again', async (t) => {
  const folder = new StoreFolder(t);
  await killedStore(folder);
  // The second filling lies in slot 1; its fourth block holds record 8 of both streams.
  const path = folder.path('wal', 'lane-000-slot-001.wal');
  overwrite(path, 4 * 4096 + 100, Buffer.alloc(8, 0xee));
  await assert.rejects(folder.open({ wal: WAL }), coded('ERR_MILLRACE_WAL_CORRUPT', 'slot-001', 'salvage: true'));

  const store = await folder.open({ wal: WAL, salvage: true });
  const { recovery } = store.stats();
  assert.equal(recovery?.damages.length, 1);
  assert.deepEqual(
    recovery.lost.map(({ firstOffset, nextOffset }) => [firstOffset, nextOffset]),
    [
      [8, 9],
      [8, 9],
    ],
  );
  for (const name of ['a', 'b']) {
    const stream = await store.stream(name);
    const expected = numbered(13).filter((text) => text !== 'record 8');
    assert.deepEqual(await texts(stream.read()), expected);
    assert.equal(await stream.get(8), undefined);
    assert.deepEqual(await texts(stream.read({ from: 8, limit: 2 })), ['record 9', 'record 10']);
    assert.equal((await stream.info()).records, 12);
    assert.equal(await stream.append('record 13'), 13);
  }
  await store.close();

  const again = await folder.open({ wal: WAL });
  for (const name of ['a', 'b']) {
    const stream = await again.stream(name);
    assert.equal((await collect(stream.read())).length, 13);
    assert.equal((await stream.info()).records, 13);
  }
  assert.deepEqual((await again.verify()).problems, []);
});

test('a stream whose truncation is lost goes on where its next record says, and says so', async (t) => {
  const folder = new StoreFolder(t);
  await killedAfter(folder, async (store) => {
    const stream = await store.stream('a');
    await stream.appendMany(numbered(3));
    await store.flush();
    await stream.append('record 3');
    await stream.truncate({ after: 0 });
    await stream.append('new 1');
    await stream.append('new 2');
  });
  // The second block of the second filling holds the truncation.
  overwrite(folder.path('wal', 'lane-000-slot-001.wal'), 2 * 4096 + 100, Buffer.alloc(8, 0xee));
  const store = await folder.open({ wal: WAL, salvage: true });
  const stream = await store.stream('a');
  assert.equal(store.stats().recovery?.damages.length, 1);
  assert.deepEqual(
    store.stats().recovery?.lostTruncations.map(({ nextOffset }) => nextOffset),
    [1],
  );
  const expected = ['record 0', 'new 1', 'new 2'];
  assert.deepEqual(await texts(stream.read()), expected);
  assert.equal(await stream.append('new 3'), 3);
  await store.close();
  const again = await folder.open({ wal: WAL });
  assert.deepEqual(await texts((await again.stream('a')).read()), [...expected, 'new 3']);
  assert.deepEqual((await again.verify()).problems, []);
});

const FILE_HARMS: Readonly<Record<string, (path: string) => void>> = {
  missing: (path) => rmSync(path),
  empty: (path) => truncateSync(path, 0),
  'cut off': (path) => truncateSync(path, 30_000),
  'without its header': (path) => overwrite(path, 0, Buffer.alloc(64, 0xff)),
};

for (const [what, harm] of Object.entries(FILE_HARMS)) {
  test(`a WAL file that is ${what} is made anew by a salvage, which keeps what can be read`, async (t) => {
    const folder = new StoreFolder(t);
    await killedStore(folder);
    for (const slot of [0, 1, 2]) harm(folder.path('wal', SLOT_0.replace('slot-000', `slot-00${slot}`)));
    await assert.rejects(folder.open({ wal: WAL }), coded('ERR_MILLRACE_WAL_CORRUPT', 'slot-000', 'salvage: true'));
    const store = await folder.open({ wal: WAL, salvage: true });
    const stream = await store.stream('a');
    const values = await texts(stream.read());
    assert.deepEqual(values.slice(0, 5), numbered(5), 'segments are untouched');
    const next = await stream.append('after');
    assert.ok(next >= values.length);
    await store.close();
    const again = await folder.open({ wal: WAL });
    assert.deepEqual(await texts((await again.stream('a')).read()), [...values, 'after']);
    assert.deepEqual((await again.verify()).problems, []);
  });
}

test('a salvage of an undamaged store is an ordinary opening', async (t) => {
  const folder = new StoreFolder(t);
  await killedStore(folder);
  const store = await folder.open({ wal: WAL, salvage: true });
  const { recovery } = store.stats();
  assert.deepEqual([recovery?.damages, recovery?.lost], [[], []]);
  assert.deepEqual(await texts((await store.stream('b')).read()), numbered(13));
});

test('a salvage and another geometry in one go lose no more than the damage', async (t) => {
  const folder = new StoreFolder(t);
  await killedStore(folder);
  overwrite(folder.path('wal', 'lane-000-slot-001.wal'), 4 * 4096 + 100, Buffer.alloc(8, 0xee));
  const store = await folder.open({ wal: { ...WAL, slots: 5, slotBytes: 128 * 1024 }, salvage: true });
  const expected = numbered(13).filter((text) => text !== 'record 8');
  assert.deepEqual(await texts((await store.stream('a')).read()), expected);
  assert.equal(store.stats().recovery?.lost.length, 2);
  assert.equal(await (await store.stream('a')).append('record 13'), 13);
});

test('a manifest out of an older backup is called older than the log, and nothing is called damaged or a bug', async (t) => {
  const folder = new StoreFolder(t);
  const stale = join(folder.parent, 'stale');
  await killedAfter(folder, async (store) => {
    const stream = await store.stream('a');
    for (let round = 0; round < 6; round += 1) {
      await stream.appendMany(numbered(3));
      await store.flush();
      if (round === 0) cpSync(folder.path('manifest'), stale, { recursive: true });
    }
    await stream.append('not flushed');
  });
  rmSync(folder.path('manifest'), { recursive: true });
  cpSync(stale, folder.path('manifest'), { recursive: true });
  const remedy = 'put back the `manifest/` that was there with this log';
  for (const [code, salvage] of [
    ['ERR_MILLRACE_WAL_CORRUPT', false],
    ['ERR_MILLRACE_WAL_GAP', true],
  ] as const) {
    await assert.rejects(folder.open({ wal: WAL, salvage }), (error: Error) => {
      coded(code, remedy, /older/)(error);
      assert.doesNotMatch(error.message, /a bug|is damaged|salvage: true/);
      return true;
    });
  }
});
