/**
 * After a write or sync error the engine stops: what was not acknowledged is refused, later appends too, reads go on,
 * nothing is tried again, and opening anew has everything that was acknowledged.
 */
import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import type { ErrorCode } from '../../src/index.ts';
import { Faults, type FaultRule, whyNoShim } from '../support/fault-shim.ts';
import type { Outcome } from '../support/store-commands.ts';
import { StoreProcess } from '../support/store-process.ts';
import { collect, numbered, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

const skip = whyNoShim() ?? false;
const FULL: ErrorCode = 'ERR_MILLRACE_DISK_FULL';
const FAILED: ErrorCode = 'ERR_MILLRACE_WRITE_FAILED';

interface Subject {
  readonly folder: StoreFolder;
  readonly faults: Faults;
  readonly child: StoreProcess;
}

/** A store in another process, with ten records in segments and ten in the ring. */
async function start(t: TestContext): Promise<Subject> {
  const folder = new StoreFolder(t);
  mkdirSync(folder.dir);
  const faults = new Faults(folder.dir, folder.parent);
  const child = await StoreProcess.start(t, { environment: faults.environment });
  await child.call('open', { dir: folder.dir, wal: SMALL_WAL });
  await child.call('createStream', 'b');
  await child.call('append', 'a', numbered(10));
  await child.call('flush');
  await child.call('append', 'a', numbered(10, 'record ', 10));
  return { folder, faults, child };
}

function assertRefused(outcomes: readonly Outcome[], code: ErrorCode): void {
  for (const outcome of outcomes) assert.deepEqual(outcome, { code });
}

/** What a stopped store still does, and what it does no more. */
async function assertStopped({ child }: Subject, code: ErrorCode, acknowledged: number): Promise<void> {
  assert.equal(await child.call('failed'), code);
  assertRefused(await child.call('append', 'a', ['late', 'later']), code);
  assertRefused([await child.call('appendMany', 'b', ['late'])], code);
  await assert.rejects(child.call('flush'), { code });
  await assert.rejects(child.call('storeOffset', 'a', 'billing', 1), { code });
  assert.deepEqual(await child.call('values', 'a'), numbered(acknowledged), 'reads go on, of what was acknowledged');
  assert.equal(await child.call('get', 'a', acknowledged - 1), `record ${acknowledged - 1}`);
  assert.equal(await child.call('durableOffset', 'a'), acknowledged);
}

/** Everything acknowledged is there; what was not may be, whole and in its place. */
async function assertReopens({ folder, child }: Subject, acknowledged: number): Promise<void> {
  await child.kill();
  for (let round = 0; round < 2; round += 1) {
    const store = await folder.open();
    const stream = await store.stream('a');
    const values = await texts(stream.read());
    assert.ok(values.length >= acknowledged);
    assert.deepEqual(values, numbered(values.length));
    assert.deepEqual((await store.verify()).problems, []);
    await store.close();
  }
  const store = await folder.open();
  const stream = await store.stream('a');
  const { nextOffset } = await stream.info();
  assert.equal(await stream.append('goes on'), nextOffset);
  assert.equal((await collect(stream.read())).length, nextOffset + 1);
}

const WAL_FAULTS: readonly [string, FaultRule, ErrorCode][] = [
  ['EIO on a write', { operation: 'write', path: '/wal/', action: 'EIO' }, FAILED],
  ['ENOSPC on a write', { operation: 'write', path: '/wal/', action: 'ENOSPC' }, FULL],
  ['EDQUOT on a write', { operation: 'write', path: '/wal/', action: 'EDQUOT' }, FULL],
  ['a short write without an error', { operation: 'write', path: '/wal/', last: 2, action: 'short:512' }, FULL],
];

for (const [what, rule, code] of WAL_FAULTS) {
  test(`${what} of the WAL stops appends, once and for all`, { skip }, async (t) => {
    const subject = await start(t);
    const { faults, child } = subject;
    faults.arm(rule);
    assertRefused(await child.call('append', 'a', numbered(5, 'record ', 20)), code);
    await assertStopped(subject, code, 20);
    const walCalls = faults.calls().filter(({ path }) => path.startsWith('/wal/'));
    assert.ok(walCalls.length > 0 && walCalls.length <= 2);
    assert.ok(
      walCalls.every(({ outcome }) => outcome !== 'ok'),
      'after the fault no WAL file is written again',
    );
    await assertReopens(subject, 20);
  });
}

test('a failed sync of the WAL, where direct writes are not offered, is never tried again', { skip }, async (t) => {
  const subject = await start(t);
  const { folder, faults } = subject;
  await subject.child.call('close');
  const child = await StoreProcess.start(t, { environment: faults.environment });
  // Each of the two files is probed once.
  faults.arm({ operation: 'write', path: '.wal', last: SMALL_WAL.slots, action: 'EINVAL' });
  await child.call('open', { dir: folder.dir, wal: SMALL_WAL });
  await child.call('append', 'a', numbered(5, 'record ', 20));
  assert.ok(faults.calls().some(({ operation, path }) => operation === 'sync' && path.endsWith('.wal')));
  faults.arm({ operation: 'sync', path: '.wal', action: 'EIO' });
  assertRefused(await child.call('append', 'a', ['record 25']), FAILED);
  await assertStopped({ folder, faults, child }, FAILED, 25);
  assert.equal(faults.calls().filter(({ operation }) => operation === 'sync').length, 1);
  await assertReopens({ folder, faults, child }, 25);
});

const FLUSH_FAULTS: readonly [string, FaultRule, ErrorCode][] = [
  ['EIO on a write of a segment', { operation: 'write', path: '/objects/', action: 'EIO' }, FAILED],
  ['ENOSPC on a write of a segment', { operation: 'write', path: '/objects/', action: 'ENOSPC' }, FULL],
  ['a short write of a segment', { operation: 'write', path: '/objects/', last: 2, action: 'short:100' }, FULL],
  ['EIO on the sync of a segment', { operation: 'sync', path: '.tmp', action: 'EIO' }, FAILED],
  ['EIO on the renaming of a segment', { operation: 'rename', path: '.seg', action: 'EIO' }, FAILED],
  ['ENOSPC on the creation of a segment', { operation: 'open', path: '/objects/', action: 'ENOSPC' }, FULL],
  ['EIO on a write of the manifest', { operation: 'write', path: '/manifest/', action: 'EIO' }, FAILED],
  ['ENOSPC on a write of the manifest', { operation: 'write', path: '/manifest/', action: 'ENOSPC' }, FULL],
  ['EIO on the sync of the manifest', { operation: 'sync', path: '/manifest/', action: 'EIO' }, FAILED],
];

for (const [what, rule, code] of FLUSH_FAULTS) {
  test(`${what} stops the store, which keeps everything in the WAL`, { skip }, async (t) => {
    const subject = await start(t);
    const { faults, child } = subject;
    faults.arm(rule);
    await assert.rejects(child.call('flush'), { code });
    await assertStopped(subject, code, 20);
    const { operation, path } = rule;
    const syncs = faults.calls().filter((call) => call.operation === operation && call.path.includes(path));
    if (operation === 'sync') assert.equal(syncs.length, 1, 'a failed sync is never tried again');
    await assertReopens(subject, 20);
  });
}

test(
  'a stream that could not be created is not there afterwards, and others go on until the store is reopened',
  { skip },
  async (t) => {
    const subject = await start(t);
    const { faults, child } = subject;
    faults.arm({ operation: 'sync', path: '/manifest/', action: 'EIO' });
    await assert.rejects(child.call('createStream', 'new'), { code: FAILED });
    await assert.rejects(child.call('createStream', 'newer'), { code: FAILED });
    assert.deepEqual(await child.call('values', 'a'), numbered(20));
    await assertReopens(subject, 20);
  },
);

test('a store that stopped opens streams for reading that it had not opened before', { skip }, async (t) => {
  const { faults, child, folder } = await start(t);
  await child.call('close');
  await child.call('open', { dir: folder.dir, wal: SMALL_WAL });
  faults.arm({ operation: 'write', path: '/manifest/', action: 'EIO' });
  await assert.rejects(child.call('createStream', 'new'), { code: FAILED });
  assert.deepEqual(await child.call('values', 'a'), numbered(20));
  await assert.rejects(child.call('createStream', 'newer'), { code: FAILED });
});

test('a store that stopped closes, and lets go of its lock', { skip }, async (t) => {
  const subject = await start(t);
  const { faults, child, folder } = subject;
  faults.arm({ operation: 'write', path: '/wal/', action: 'EIO' });
  assertRefused(await child.call('append', 'a', ['record 20']), FAILED);
  await child.call('close');
  const store = await folder.open();
  assert.deepEqual((await texts((await store.stream('a')).read())).slice(0, 20), numbered(20));
});

test('appends that wait for room are refused as well when the disk fails', { skip }, async (t) => {
  const { faults, child } = await start(t);
  faults.arm({ operation: 'write', path: '/objects/', last: 2 ** 31, action: 'EIO' });
  const outcomes = await child.call(
    'append',
    'b',
    Array.from({ length: 60 }, () => 'x'.repeat(5_000)),
  );
  const refused = outcomes.filter((outcome) => 'code' in outcome);
  assert.ok(refused.length > 30);
  assertRefused(refused, FAILED);
  const acknowledged = outcomes.length - refused.length;
  assert.equal((await child.call('values', 'b')).length, acknowledged);
});

const BIRTH_FAULTS: readonly FaultRule[] = [
  { operation: 'write', path: '/wal/', action: 'ENOSPC' },
  { operation: 'write', path: '/wal/', first: 2, action: 'EIO' },
  { operation: 'sync', path: '/wal/', action: 'EIO' },
  { operation: 'rename', path: '/wal/', action: 'EIO' },
  { operation: 'write', path: '/manifest/', action: 'EIO' },
  { operation: 'sync', path: '/manifest/', action: 'EIO' },
  { operation: 'rename', path: '/manifest/', action: 'EIO' },
  { operation: 'write', path: '/STORE', action: 'EIO' },
  { operation: 'sync', path: '/STORE', action: 'EIO' },
  { operation: 'rename', path: '/STORE', action: 'EIO' },
  { operation: 'open', path: '/LOCK', action: 'EACCES' },
  { operation: 'open', path: '/manifest/', action: 'EMFILE' },
];

test('a birth that fails at any step says why and leaves nothing behind', { skip }, async (t) => {
  const folder = new StoreFolder(t);
  const faults = new Faults(folder.dir, folder.parent);
  const child = await StoreProcess.start(t, { environment: faults.environment });
  const descriptors = await child.call('descriptors');
  for (const rule of BIRTH_FAULTS) {
    faults.arm(rule);
    const options = { dir: folder.dir, wal: SMALL_WAL };
    await assert.rejects(child.call('open', options), { code: /^ERR_MILLRACE_/ }, JSON.stringify(rule));
    assert.throws(() => statSync(folder.dir), { code: 'ENOENT' }, JSON.stringify(rule));
  }
  assert.ok((await child.call('descriptors')) <= descriptors + 2, 'no descriptor stays open');
  faults.arm();
  await child.call('open', { dir: folder.dir, wal: SMALL_WAL });
  assert.deepEqual(await child.call('append', 'a', ['x']), [{ offset: 0 }]);
});
