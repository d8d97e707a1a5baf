import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ErrorCode } from '../../src/errors/codes.ts';
import { withCode } from '../../src/testing/object-store-contract.ts';
import {
  commitRuns,
  makeStream,
  PLAIN,
  reserveKey,
  sampleCommit,
  sampleRun,
} from '../../src/testing/coordinator/samples.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { RecordingFileSystem } from '../support/recording-file-system.ts';
import { dump, openOver } from './fixture.ts';

/** A gate that operations wait at until it is opened. */
function gate(): { readonly wait: () => Promise<void>; readonly open: () => void; readonly reached: Promise<void> } {
  let open!: () => void;
  let reach!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  return {
    wait: () => {
      reach();
      return opened;
    },
    open,
    reached,
  };
}

async function settledOf(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

suite('group commit', () => {
  test('commands that arrive during a sync share the next one', async () => {
    const fileSystem = new RecordingFileSystem(new SimulatedDisk({ directories: ['/store'] }));
    const coordinator = await openOver(fileSystem);
    const streamId = await makeStream(coordinator, 's');
    const { keys } = await coordinator.reserveObjects(500);
    const before = fileSystem.count('sync');
    await Promise.all(
      keys.map((key) => coordinator.commitObject(sampleCommit(key, [sampleRun(streamId, 0, 2)], { relative: true }))),
    );
    assert.equal(fileSystem.count('sync') - before, 1);
    assert.equal((await coordinator.streamTotals(streamId)).nextOffset, 1000);
    await coordinator.close();
  });

  test('neither answers nor refusals nor reads run ahead of the disk', async () => {
    const fileSystem = new RecordingFileSystem(new SimulatedDisk({ directories: ['/store'] }));
    const coordinator = await openOver(fileSystem);
    const streamId = await makeStream(coordinator, 's');
    const commit = sampleCommit(await reserveKey(coordinator), [sampleRun(streamId, 0, 5)]);
    const sync = gate();
    fileSystem.on('sync', sync.wait);
    const first = coordinator.commitObject(commit);
    const replay = coordinator.commitObject(commit);
    const refused = coordinator.commitObject({ ...commit, bytes: 1000 }).catch(() => 'refused');
    await sync.reached;
    const read = coordinator.streamTotals(streamId);
    const listed = coordinator.listObjects({});
    for (const promise of [first, replay, refused, read, listed]) assert.equal(await settledOf(promise), false);
    sync.open();
    assert.equal((await first).replayed, false);
    assert.equal((await replay).replayed, true);
    assert.equal(await refused, 'refused');
    assert.equal((await read).nextOffset, 5);
    assert.equal((await listed).length, 1);
    await coordinator.close();
  });

  test('a question needs no write', async () => {
    const fileSystem = new RecordingFileSystem(new SimulatedDisk({ directories: ['/store'] }));
    const coordinator = await openOver(fileSystem);
    await makeStream(coordinator, 's');
    const before = fileSystem.count('write');
    await makeStream(coordinator, 's');
    await coordinator.deleteStream(77);
    await coordinator.expire();
    await dump(coordinator);
    assert.equal(fileSystem.count('write'), before);
    await coordinator.close();
  });

  const faults: [string, 'write' | 'sync', () => number, ErrorCode][] = [
    ['a failed write', 'write', () => fail('EIO'), 'ERR_MILLRACE_WRITE_FAILED'],
    ['a full disk', 'write', () => fail('ENOSPC'), 'ERR_MILLRACE_DISK_FULL'],
    ['a short write', 'write', () => 10, 'ERR_MILLRACE_DISK_FULL'],
    ['a failed sync', 'sync', () => fail('EIO'), 'ERR_MILLRACE_WRITE_FAILED'],
    ['a quota', 'sync', () => fail('EDQUOT'), 'ERR_MILLRACE_DISK_FULL'],
  ];
  for (const [what, operation, hook, code] of faults) {
    test(`${what} stops all changes for good, and reads go on with what is durable`, async () => {
      const disk = new SimulatedDisk({ directories: ['/store'] });
      const fileSystem = new RecordingFileSystem(disk);
      const coordinator = await openOver(fileSystem);
      const streamId = await makeStream(coordinator, 's');
      await commitRuns(coordinator, [sampleRun(streamId, 0, 5)]);
      const { keys } = await coordinator.reserveObjects(2);
      const durable = await dump(coordinator);
      const reached = gate();
      fileSystem.on(operation, () => {
        void reached.wait();
        return hook();
      });
      const changes = [
        coordinator.commitObject(sampleCommit(keys[0]!, [sampleRun(streamId, 5, 5)])),
        coordinator.deleteStream(streamId),
      ];
      const outcomes = Promise.allSettled(changes);
      await reached.reached;
      const read = coordinator.streamTotals(streamId);
      fileSystem.off(operation);
      for (const outcome of await outcomes) {
        assert.equal(outcome.status, 'rejected');
        withCode(code)(outcome.reason);
      }
      assert.equal((await read).nextOffset, 5);
      assert.deepEqual(await dump(coordinator), durable);
      await assert.rejects(coordinator.createStream('t', PLAIN), withCode(code));
      await coordinator.close();
      assert.equal(fileSystem.openHandles, 0);
      const reopened = await openOver(disk);
      const { nextOffset } = await reopened.streamTotals(streamId).catch(() => ({ nextOffset: 10 }));
      assert.ok(nextOffset === 5 || operation === 'sync');
      await reopened.close();
    });
  }

  test('when the durable state cannot be read back either, reads say so', async () => {
    const fileSystem = new RecordingFileSystem(new SimulatedDisk({ directories: ['/store'] }));
    const coordinator = await openOver(fileSystem);
    fileSystem.on('sync', () => fail('EIO'));
    fileSystem.on('read', () => fail('EIO'));
    await assert.rejects(coordinator.createStream('s', PLAIN), withCode('ERR_MILLRACE_WRITE_FAILED'));
    await assert.rejects(coordinator.streams(), withCode('ERR_MILLRACE_READ_FAILED'));
    await coordinator.close();
  });

  test('a command with nonsense for arguments fails alone', async () => {
    const coordinator = await openOver(new SimulatedDisk({ directories: ['/store'] }));
    const key = await reserveKey(coordinator);
    await assert.rejects(coordinator.commitObject({ key } as never));
    await coordinator.createStream('s', PLAIN);
    await coordinator.close();
  });

  test('closing waits for what is under way, and is the end', async () => {
    const fileSystem = new RecordingFileSystem(new SimulatedDisk({ directories: ['/store'] }));
    const coordinator = await openOver(fileSystem);
    const created = coordinator.createStream('s', PLAIN);
    const closed = coordinator.close();
    assert.equal((await created).created, true);
    await closed;
    await coordinator.close();
    const over = withCode('ERR_MILLRACE_CLOSED');
    await assert.rejects(coordinator.createStream('t', PLAIN), over);
    await assert.rejects(coordinator.streams(), over);
    await assert.rejects(coordinator.refresh(), over);
    assert.equal(fileSystem.openHandles, 0);
  });

  test('a log that outgrows its snapshot is replaced, and the files stay three', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const fileSystem = new RecordingFileSystem(disk);
    const coordinator = await openOver(fileSystem, { logBytesMin: 2000 });
    for (let index = 0; index < 200; index += 1) await makeStream(coordinator, `stream ${index}`);
    const swaps = fileSystem.calls.filter(({ operation, path }) => operation === 'rename' && path.endsWith('CURRENT'));
    // Each log is as large as the snapshot before it: their number grows with the logarithm of the state.
    assert.ok(swaps.length >= 3 && swaps.length < 12, `${swaps.length} swaps`);
    assert.equal(disk.listSync('/store/manifest').length, 3);
    const state = await dump(coordinator);
    await coordinator.close();
    const reopened = await openOver(disk);
    assert.deepEqual(await dump(reopened), state);
    await reopened.close();
    assert.equal(fileSystem.openHandles, 0);
  });
});

function fail(code: string): never {
  throw systemError(code);
}
