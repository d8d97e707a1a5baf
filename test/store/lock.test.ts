/** One writer per store, whoever it is and however it ends. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { open } from '../../src/index.ts';
import { lockByFlock, lockBySocket, lockStore, socketPath } from '../../src/store/lock.ts';
import { StoreProcess } from '../support/store-process.ts';
import { coded, SMALL_WAL, StoreFolder } from '../support/test-store.ts';

const locked = coded('ERR_MILLRACE_LOCKED', 'readOnly');

test('a second opener in the same process is refused, under any name of the directory, until the first closes', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  symlinkSync(folder.dir, join(folder.parent, 'link'));
  for (const dir of [folder.dir, join(folder.dir, '..', 'store'), join(folder.parent, 'link')]) {
    await assert.rejects(open({ dir, wal: SMALL_WAL }), locked);
  }
  await assert.rejects(Promise.all([folder.open(), folder.open({ salvage: true })]), locked);
  await (await store.stream('a')).append('still works');
  await store.close();
  await (await folder.open()).close();
});

test('of two openers at the same time one wins, and a failed attempt costs nothing', async (t) => {
  const folder = new StoreFolder(t);
  for (let round = 0; round < 5; round += 1) {
    const attempts = await Promise.allSettled([folder.open(), folder.open(), folder.open()]);
    const winners = attempts.filter((attempt) => attempt.status === 'fulfilled');
    assert.equal(winners.length, 1);
    for (const attempt of attempts) if (attempt.status === 'rejected') locked(attempt.reason);
    const store = winners[0]?.value;
    assert.equal(await (await store?.stream('a'))?.append('x'), round);
    await store?.close();
  }
});

test('another process is refused at once, and let in when the first one is killed', async (t) => {
  const folder = new StoreFolder(t);
  const options = { dir: folder.dir, wal: SMALL_WAL };
  const [first, second] = await Promise.all([StoreProcess.start(t), StoreProcess.start(t)]);
  await first.call('open', options);
  await first.call('append', 'a', ['x']);
  await assert.rejects(second.call('open', options), { code: 'ERR_MILLRACE_LOCKED' });
  await assert.rejects(folder.open(), locked);
  await second.call('open', { ...options, readOnly: true });
  await first.kill();
  const store = await folder.open();
  assert.equal(await (await store.stream('a')).append('y'), 1);
});

test('a loser who made the directory leaves what the winner has put there by then', async (t) => {
  const folder = new StoreFolder(t);
  // Stands for the winner: it comes between the making of the directory and the lock, and keeps the lock.
  const programs = join(folder.parent, 'programs');
  mkdirSync(programs);
  const birth = `cd '${folder.dir}' && mkdir manifest wal objects && touch manifest/CURRENT wal/0.wal`;
  writeFileSync(join(programs, 'flock'), `#!/bin/sh\n${birth}\nexit 1\n`, { mode: 0o755 });
  const environment = { PATH: `${programs}${delimiter}${process.env['PATH'] ?? ''}` };
  const loser = await StoreProcess.start(t, { environment });
  await assert.rejects(loser.call('open', { dir: folder.dir, wal: SMALL_WAL }), { code: 'ERR_MILLRACE_LOCKED' });
  const left = readdirSync(folder.dir, { recursive: true, encoding: 'utf8' }).sort();
  assert.deepEqual(left, ['LOCK', 'manifest', 'manifest/CURRENT', 'objects', 'wal', 'wal/0.wal']);
});

for (const [name, lock] of [
  ['flock', async (directory: string) => lockByFlock(directory)],
  ['socket', lockBySocket],
  ['either', lockStore],
] as const) {
  test(`a lock by ${name} keeps everybody else out until it is released`, async (t) => {
    const { parent } = new StoreFolder(t);
    const other = join(parent, 'other');
    mkdirSync(other);
    for (let round = 0; round < 3; round += 1) {
      const held = await lock(parent);
      assert.ok(held !== undefined, 'this machine has the means');
      await assert.rejects(async () => lock(parent), locked);
      const elsewhere = await lock(other);
      await elsewhere?.release();
      await held.release();
    }
  });
}

test('the socket of a killed process is taken over, by one of those who try', async (t) => {
  const { parent } = new StoreFolder(t);
  const holder = await StoreProcess.start(t);
  await holder.call('lockBySocket', parent);
  await assert.rejects(lockBySocket(realpathSync(parent)), locked);
  await holder.kill();
  const attempts = await Promise.allSettled([1, 2, 3, 4].map(() => lockBySocket(parent)));
  const winners = attempts.filter((attempt) => attempt.status === 'fulfilled');
  assert.equal(winners.length, 1, 'one of four');
  await winners[0]?.value.release();
});

test('the socket is the same one whatever a process takes for the directory of temporary files', async (t) => {
  const { parent } = new StoreFolder(t);
  const long = join(parent, 'long'.repeat(30));
  const temporary = join(parent, 'temporary');
  for (const directory of [long, temporary]) mkdirSync(directory);
  assert.ok(Buffer.byteLength(socketPath(realpathSync(long))) <= 100);
  const holder = await StoreProcess.start(t, { environment: { TMPDIR: temporary } });
  for (const directory of [parent, long]) {
    await holder.call('lockBySocket', directory);
    await assert.rejects(lockBySocket(directory), locked);
  }
});

test('a lock on a file that has been removed meanwhile counts for nothing', async (t) => {
  const { parent } = new StoreFolder(t);
  const stale = lockByFlock(parent);
  rmSync(join(parent, 'LOCK'));
  writeFileSync(join(parent, 'LOCK'), '');
  const current = lockByFlock(parent);
  assert.ok(current !== undefined);
  assert.throws(() => lockByFlock(parent), locked);
  await stale?.release();
  assert.throws(() => lockByFlock(parent), locked);
  await current.release();
});

test('a link in the place of the lock is not followed', { skip: process.platform === 'win32' }, async (t) => {
  const folder = new StoreFolder(t);
  const outside = join(folder.parent, 'outside');
  mkdirSync(folder.dir);
  symlinkSync(outside, join(folder.dir, 'LOCK'));
  await assert.rejects(folder.open(), coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', 'symbolic link'));
  assert.equal(existsSync(outside), false);
  assert.deepEqual(readdirSync(folder.dir), ['LOCK']);
});
