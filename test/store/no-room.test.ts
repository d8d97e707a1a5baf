/** A disk that is full, at birth and later, and directories that may not be written. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { StoreProcess } from '../support/store-process.ts';
import { listing, numbered, SMALL_WAL, StoreFolder } from '../support/test-store.ts';

const SMALL_DISK = 'mount -t tmpfs -o size=8m none "$0" && exec "$@"';
const CHILD = join(import.meta.dirname, '..', 'support', 'store-child.js');
const NOBODY = 65_534;

function whyNoSmallDisk(): string | false {
  if (process.getuid?.() !== 0) return 'only root may mount a small disk';
  const { status } = spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs -o size=8m none /mnt']);
  return status === 0 ? false : 'no small disk can be mounted here';
}

function whyNoOtherUser(): string | false {
  if (process.getuid?.() !== 0) return 'only root may start a process as somebody else';
  const { status } = spawnSync(process.execPath, ['--check', CHILD], { uid: NOBODY, gid: NOBODY });
  return status === 0 ? false : 'nobody may not read the compiled tests here';
}

/** A process for which a directory is a disk of 8 MiB; nobody else sees it, and it is gone with the process. */
async function onSmallDisk(t: TestContext): Promise<{ child: StoreProcess; dir: string; disk: string }> {
  const { dir: disk } = new StoreFolder(t);
  mkdirSync(disk);
  const child = await StoreProcess.start(t, { wrapper: ['unshare', '-m', 'sh', '-c', SMALL_DISK, disk] });
  return { child, disk, dir: join(disk, 'store') };
}

const smallDisk = { skip: whyNoSmallDisk() };
const FULL = { code: 'ERR_MILLRACE_DISK_FULL', message: /make room/ };

test('a store for which there is no room is not half made', smallDisk, async (t) => {
  const { child, dir, disk } = await onSmallDisk(t);
  for (const wal of [{}, { slots: 4, slotBytes: 2 ** 21 }]) {
    await assert.rejects(child.call('open', { dir, wal }), FULL);
    assert.deepEqual(await child.call('list', disk), []);
  }
  await child.call('open', { dir, wal: SMALL_WAL });
  assert.deepEqual(await child.call('append', 'a', ['x']), [{ offset: 0 }]);
});

test('a disk that fills up stops appends, loses nothing, and goes on once there is room', smallDisk, async (t) => {
  const { child, dir, disk } = await onSmallDisk(t);
  await child.call('open', { dir, wal: SMALL_WAL });
  await child.call('append', 'a', numbered(10));
  await child.call('fill', join(disk, 'ballast'), 2 ** 24);
  const large = Array.from({ length: 40 }, (_, index) =>
    `${index}`.padEnd(5_000, String.fromCharCode(97 + (index % 26))),
  );
  const outcomes = await child
    .call('append', 'b', large)
    .catch((error: unknown) => [{ code: (error as { code?: string }).code }]);
  const acknowledged = outcomes.filter((outcome) => 'offset' in outcome).length;
  assert.ok(acknowledged < large.length);
  for (const outcome of outcomes.slice(acknowledged)) assert.deepEqual(outcome, { code: 'ERR_MILLRACE_DISK_FULL' });
  assert.deepEqual(await child.call('append', 'a', ['late']), [{ code: 'ERR_MILLRACE_DISK_FULL' }]);
  assert.deepEqual(await child.call('values', 'a'), numbered(10));
  await child.call('close');

  // Opening needs no room: what is there can be read.
  await child.call('open', { dir, wal: SMALL_WAL });
  assert.deepEqual(await child.call('values', 'a'), numbered(10));
  await child.call('failed');
  await child.call('close');

  await child.call('remove', join(disk, 'ballast'));
  await child.call('open', { dir, wal: SMALL_WAL });
  assert.deepEqual(await child.call('values', 'a'), numbered(10));
  const values = await child.call('values', 'b');
  assert.ok(values.length >= acknowledged);
  assert.deepEqual(values, large.slice(0, values.length));
  assert.deepEqual(await child.call('append', 'b', ['on']), [{ offset: values.length }]);
  await child.call('flush');
  assert.deepEqual(await child.call('problems'), []);
});

test(
  'a store that a full disk has stopped can be trimmed, and goes on in the room which that makes',
  smallDisk,
  async (t) => {
    const { child, dir, disk } = await onSmallDisk(t);
    const options = { dir, wal: SMALL_WAL, compaction: { deleteGrace: 0 } };
    await child.call('open', options);
    const old = Array.from({ length: 200 }, (_, index) => `${index} `.padEnd(5_000, randomUUID()));
    await child.call('appendMany', 'a', old);
    await child.call('flush');
    await child.call('fill', join(disk, 'ballast'), 2 ** 24);
    const large = Array.from({ length: 60 }, () => randomUUID().repeat(140));
    const outcomes = await child.call('append', 'a', large);
    assert.deepEqual(outcomes.at(-1), { code: 'ERR_MILLRACE_DISK_FULL' });
    const acknowledged = outcomes.filter((outcome) => 'offset' in outcome).length;
    await child.call('trim', 'a', old.length - 10);
    await child.call('compact');
    await child.call('close');

    await child.call('open', options);
    await child.call('append', 'a', ['on']);
    await child.call('flush');
    const values = await child.call('values', 'a');
    assert.deepEqual(values.slice(0, 10), old.slice(-10));
    assert.deepEqual(values.slice(10, 10 + acknowledged), large.slice(0, acknowledged));
    assert.equal(values.at(-1), 'on');
  },
);

test('a disk without room for other WAL files keeps the ones it has', smallDisk, async (t) => {
  const { child, dir } = await onSmallDisk(t);
  await child.call('open', { dir, wal: SMALL_WAL });
  await child.call('append', 'a', numbered(10));
  await child.call('close');
  await assert.rejects(child.call('open', { dir, wal: { slots: 4, slotBytes: 2 ** 22 } }), FULL);
  await child.call('open', { dir, wal: {} });
  assert.deepEqual(await child.call('values', 'a'), numbered(10));
  assert.deepEqual(
    (await child.call('list', dir)).filter((name) => /^wal\..*|\.tmp$/.test(name)),
    [],
  );
});

test(
  'a directory that may not be written is refused with what to check, and left alone',
  { skip: whyNoOtherUser() },
  async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open();
    await (await store.stream('a')).append('x');
    await store.close();
    const empty = join(folder.parent, 'empty');
    mkdirSync(empty);
    for (const path of [folder.parent, empty, folder.dir]) chmodSync(path, 0o755);
    const before = listing(folder.parent);
    const child = await StoreProcess.start(t, { user: NOBODY });
    const refused = { code: 'ERR_MILLRACE_DIRECTORY_UNUSABLE', message: /check who may write/ };
    for (const dir of [empty, join(empty, 'below'), folder.dir]) {
      await assert.rejects(child.call('open', { dir, wal: SMALL_WAL }), refused, dir);
    }
    assert.deepEqual(listing(folder.parent), before);
    await child.call('open', { dir: folder.dir, readOnly: true });
    assert.deepEqual(await child.call('values', 'a'), ['x'], 'whoever may read may open it for reading');

    const own = join(folder.parent, 'own');
    mkdirSync(own);
    chownSync(own, NOBODY, NOBODY);
    await child.call('open', { dir: own, wal: SMALL_WAL });
    assert.deepEqual(await child.call('append', 'a', ['y']), [{ offset: 0 }]);
  },
);
