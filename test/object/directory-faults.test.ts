import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { allocatePages } from '../../src/base/page-memory.ts';
import { openDescriptor } from '../../src/object/open-descriptor.ts';
import { describeDirectoryStore, DirectoryObjectStore } from '../../src/object/directory-object-store.ts';
import { openObjectStore } from '../../src/object/directory-object-store.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { patternBytes, putObject, withCode } from '../../src/testing/object-store-contract.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { RecordingFileSystem } from '../support/recording-file-system.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/temporary-directory.ts';

const DIRECT_BYTES: number = 256 * 1_024;
const CHANGING = ['makeDirectory', 'open', 'write', 'sync', 'close', 'rename', 'remove', 'syncDirectory'] as const;

let directory: TemporaryDirectory;
let root: string;
let disk: RecordingFileSystem;
let store: DirectoryObjectStore;
beforeEach(() => {
  directory = temporaryDirectory();
  root = join(directory.path, 'objects');
  disk = new RecordingFileSystem();
  store = new DirectoryObjectStore({ root, fileSystem: disk });
});
afterEach(async () => {
  await store.close();
  directory.remove();
});

test('short reads are continued', async () => {
  await putObject(store, 'k', patternBytes(1000));
  disk.on('read', (call) => Math.min(7, call.length ?? 0));
  assert.deepEqual(Buffer.from(await store.read('k', 10, 500)), Buffer.from(patternBytes(1000).subarray(10, 510)));
  assert.equal(disk.count('read'), Math.ceil(500 / 7));
});

test('whole pages into memory of the caller are read past the page cache, and other reads are not', async () => {
  await putObject(store, 'k', patternBytes(DIRECT_BYTES + 4_096));
  const target = allocatePages(DIRECT_BYTES);
  const direct = async (): Promise<boolean[]> => {
    disk.calls.length = 0;
    const found = await store.read('k', 4_096, DIRECT_BYTES, undefined, target);
    assert.deepEqual(Buffer.from(found), Buffer.from(patternBytes(DIRECT_BYTES + 4_096).subarray(4_096)));
    return disk.calls.flatMap(({ operation, mode }) => (operation === 'open' ? [mode?.direct === true] : []));
  };
  disk.on('open', ({ mode }) => {
    if (mode?.direct === true) throw systemError('EINVAL');
  });
  assert.deepEqual(await direct(), [true, false], 'a file system that does not offer it');
  assert.deepEqual(await direct(), [], 'it is not asked again');
  await store.close();
  store = new DirectoryObjectStore({ root, fileSystem: disk });
  disk.on('open', () => undefined);
  disk.on('read', ({ length = 0 }) => Math.min(length, DIRECT_BYTES / 2));
  assert.equal((await direct())[0], true);
  await store.read('k', 1, DIRECT_BYTES - 1);
  assert.equal(disk.calls.findLast(({ operation }) => operation === 'open')?.mode?.direct, false);
});

test('only aligned memory is read into directly, and a direct read that fails turns off no other', async () => {
  for (const key of ['k', 'other']) await putObject(store, key, patternBytes(DIRECT_BYTES));
  const directOpens = async (key: string, target: Uint8Array): Promise<boolean[]> => {
    disk.calls.length = 0;
    await store.read(key, 0, DIRECT_BYTES, undefined, target);
    assert.deepEqual(Buffer.from(target), Buffer.from(patternBytes(DIRECT_BYTES)));
    return disk.calls.flatMap(({ operation, mode }) => (operation === 'open' ? [mode?.direct === true] : []));
  };
  assert.deepEqual(await directOpens('k', Buffer.allocUnsafeSlow(DIRECT_BYTES)), [false]);
  let reads = 0;
  disk.on('read', () => {
    reads += 1;
    if (reads === 1) throw systemError('EINVAL');
  });
  assert.deepEqual(await directOpens('k', allocatePages(DIRECT_BYTES)), [true]);
  assert.equal(reads, 2, 'the read that was refused was repeated through the page cache');
  assert.deepEqual(await directOpens('other', allocatePages(DIRECT_BYTES)), [true]);
});

test('an object cut short on disk is damage, before and after it was opened', async () => {
  await putObject(store, 'k', patternBytes(1000));
  await store.read('k', 0, 1000);
  truncateSync(join(root, 'k'), 500);
  await assert.rejects(store.read('k', 400, 200), withCode('ERR_MILLRACE_SEGMENT_CORRUPT'));
  const fresh = new DirectoryObjectStore({ root });
  await assert.rejects(fresh.read('k', 400, 200), withCode('ERR_MILLRACE_SEGMENT_CORRUPT'));
  await fresh.close();
});

test('a read error is coded and carries its cause', async () => {
  await putObject(store, 'k', patternBytes(10));
  disk.on('read', () => {
    throw systemError('EIO');
  });
  await assert.rejects(store.read('k', 0, 10), (error: Error) => {
    assert.match(String(error.cause), /EIO/);
    return withCode('ERR_MILLRACE_READ_FAILED')(error);
  });
  disk.off('read');
  assert.equal((await store.read('k', 0, 10)).length, 10);
});

test('a signal that fires during a read ends it', async () => {
  await putObject(store, 'k', patternBytes(10));
  const controller = new AbortController();
  disk.on('read', () => controller.abort());
  await assert.rejects(store.read('k', 0, 10, controller.signal), withCode('ERR_MILLRACE_ABORTED'));
});

test('delete syncs each directory once per call', async () => {
  const keys = Array.from({ length: 20 }, (_, index) => `d${index % 2}/${index}`);
  for (const key of keys) await putObject(store, key, patternBytes(1));
  disk.calls.length = 0;
  assert.deepEqual((await store.delete(keys)).sort(), [...keys].sort());
  assert.equal(disk.count('syncDirectory'), 2);
});

test('a key that cannot be removed is not confirmed, and the rest is', async () => {
  for (const key of ['a', 'b', 'c']) await putObject(store, key, patternBytes(1));
  disk.on('remove', (call) => {
    if (call.path.endsWith('/b')) throw systemError('EACCES');
  });
  assert.deepEqual(await store.delete(['a', 'b', 'c']), ['a', 'c']);
  disk.off('remove');
  assert.deepEqual(await store.delete(['b']), ['b']);
});

test('removals that are not durable are not confirmed', async () => {
  await putObject(store, 'd/1', patternBytes(1));
  await putObject(store, 'e/1', patternBytes(1));
  disk.on('syncDirectory', (call) => {
    if (call.path.endsWith('/d')) throw systemError('EIO');
  });
  assert.deepEqual(await store.delete(['d/1', 'e/1']), ['e/1']);
});

test('what a crash left of a writer is invisible, and removed on request', async () => {
  await putObject(store, 'd/kept', patternBytes(5));
  const crashed = await store.create('d/lost');
  await crashed.write(patternBytes(10_000));
  assert.equal(readdirSync(join(root, 'd')).length, 2);

  const reopened = new DirectoryObjectStore({ root });
  const listed: string[] = [];
  for await (const entry of reopened.list()) listed.push(entry.key);
  assert.deepEqual(listed, ['d/kept']);
  assert.equal(await reopened.removeUnfinished(Infinity), 1);
  assert.deepEqual(readdirSync(join(root, 'd')), ['kept']);
  assert.equal(await reopened.removeUnfinished(Infinity), 0);
  await reopened.close();
  await crashed.abort();
});

test('a store that was never written to is empty, and reading does not make its directory', async () => {
  for await (const entry of store.list()) assert.fail(`unexpected ${entry.key}`);
  assert.equal(await store.removeUnfinished(Infinity), 0);
  assert.equal(await store.size('k'), undefined);
  assert.deepEqual(await store.delete(['k', 'd/k']), ['k', 'd/k']);
  assert.equal(existsSync(root), false);
});

test('no symbolic link below the root is followed, for any operation', async () => {
  const outside = join(directory.path, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'untouched');
  mkdirSync(root);
  symlinkSync(outside, join(root, 'link'));
  symlinkSync(join(outside, 'secret'), join(root, 'file'));

  await assert.rejects(store.create('link/new'), withCode('ERR_MILLRACE_DIRECTORY_UNUSABLE'));
  await assert.rejects(store.read('link/secret', 0, 1), withCode('ERR_MILLRACE_DIRECTORY_UNUSABLE'));
  await assert.rejects(store.read('file', 0, 1), withCode('ERR_MILLRACE_DIRECTORY_UNUSABLE'));
  assert.equal(await store.size('file'), undefined);
  assert.deepEqual(await store.delete(['link/secret']), []);
  for await (const entry of store.list()) assert.fail(`unexpected ${entry.key}`);
  assert.deepEqual(readdirSync(outside), ['secret']);
});

test('the root itself may be a symbolic link', async () => {
  const target = join(directory.path, 'target');
  mkdirSync(target);
  symlinkSync(target, root);
  await putObject(store, 'd/k', patternBytes(10));
  assert.equal((await store.read('d/k', 0, 10)).length, 10);
  assert.deepEqual(readdirSync(target), ['d']);
});

test('a file where a folder belongs is named', async () => {
  await putObject(store, 'd', patternBytes(1));
  await assert.rejects(store.create('d/k'), withCode('ERR_MILLRACE_DIRECTORY_UNUSABLE'));
});

test('a descriptor crosses a thread and opens the same store', async () => {
  await putObject(store, 'k', patternBytes(10));
  const descriptor = structuredClone(describeDirectoryStore({ root, maxOpenFiles: 2, direct: false }));
  const opened: ObjectStore = await openDescriptor(descriptor);
  assert.equal((await opened.read('k', 0, 10)).length, 10);
  await opened.close();
});

test('options that do not make a store are refused', async () => {
  for (const options of [{}, { root: 5 }, { root, maxOpenFiles: 0 }, { root, direct: 'yes' }]) {
    await assert.rejects(openObjectStore(options), withCode('ERR_MILLRACE_INVALID_ARGUMENT'));
  }
});

test('a path that the system refuses to look at is a read error with its cause', async () => {
  await putObject(store, 'd/k', patternBytes(10));
  const fresh = new DirectoryObjectStore({ root, fileSystem: disk });
  disk.on('stat', () => {
    throw systemError('EACCES');
  });
  await assert.rejects(fresh.read('d/k', 0, 1), withCode('ERR_MILLRACE_READ_FAILED'));
  await assert.rejects(fresh.size('d/k'), withCode('ERR_MILLRACE_READ_FAILED'));
  await fresh.close();
});

test('a process that is stopped at any step leaves the whole object or none', async () => {
  const bytes = patternBytes(20_000);
  let step = 0;
  let isWhole = false;
  for (; !isWhole; step += 1) {
    const target = join(directory.path, `kill-${step}`);
    const dying = new RecordingFileSystem();
    // Nothing happens after the step at which the process ends, not even cleaning up.
    const kill = (): void => {
      if (dying.calls.length > step) throw new Error('the process ended');
    };
    for (const operation of CHANGING) dying.on(operation, kill);
    const victim = new DirectoryObjectStore({ root: target, fileSystem: dying });
    isWhole = await putObject(victim, 'd/k', bytes).then(
      () => true,
      () => false,
    );

    const reopened = new DirectoryObjectStore({ root: target });
    await reopened.removeUnfinished(Infinity);
    const size = await reopened.size('d/k');
    assert.ok(size === undefined || size === bytes.length, `step ${step} left ${size} bytes`);
    if (isWhole) assert.equal(size, bytes.length);
    const left = existsSync(join(target, 'd')) ? readdirSync(join(target, 'd')) : [];
    assert.deepEqual(left, size === undefined ? [] : ['k'], `step ${step}`);
    await reopened.close();
  }
  assert.ok(step > 8, 'every step was tried');
});
