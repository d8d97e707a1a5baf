import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { allocatePages } from '../../src/base/page-memory.ts';
import { DirectoryObjectStore } from '../../src/object/directory-object-store.ts';
import { patternBytes, putObject, withCode } from '../../src/testing/object-store-contract.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { RecordingFileSystem, type Operation } from '../support/recording-file-system.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/temporary-directory.ts';

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
  assert.equal(disk.openHandles, 0, 'every file was closed');
  directory.remove();
});

const CHANGES: readonly Operation[] = ['makeDirectory', 'open', 'write', 'sync', 'rename', 'remove', 'syncDirectory'];

function changes(): string[] {
  return disk.calls
    .filter((call) => CHANGES.includes(call.operation))
    .map((call) => {
      const name = call.path.slice(directory.path.length).replace(/[0-9a-f]{8}\.tmp$/, '*.tmp');
      return call.operation === 'open' ? `open ${call.mode?.access} ${name}` : `${call.operation} ${name}`;
    });
}

/** Page-aligned memory, as the ring and the flush workers have it. */
function alignedBytes(length: number): Uint8Array {
  const bytes = allocatePages(length);
  bytes.set(patternBytes(length));
  return bytes;
}

test('data is synced before the rename, and the directory after it', async () => {
  await putObject(store, 'one', alignedBytes(8192));
  disk.calls.length = 0;
  await putObject(store, 'two', alignedBytes(8192));
  assert.deepEqual(changes(), [
    'open create /objects/two.*.tmp',
    'write /objects/two.*.tmp',
    'sync /objects/two.*.tmp',
    'rename /objects/two',
    'syncDirectory /objects',
  ]);
});

test('a new folder is made durable from the outside in, before anything is written into it', async () => {
  await putObject(store, 'a/b/c', alignedBytes(4096));
  assert.deepEqual(changes().slice(0, 7), [
    'makeDirectory /objects',
    'syncDirectory ',
    'makeDirectory /objects/a',
    'syncDirectory /objects',
    'makeDirectory /objects/a/b',
    'syncDirectory /objects/a',
    'open create /objects/a/b/c.*.tmp',
  ]);
});

test('a folder that was there is synced once too: whoever made it may have been stopped', async () => {
  mkdirSync(join(root, 'a'), { recursive: true });
  await putObject(store, 'a/1', patternBytes(1));
  await putObject(store, 'a/2', patternBytes(1));
  const synced = disk.calls.filter((call) => call.operation === 'syncDirectory').map((call) => call.path);
  assert.deepEqual(synced, [directory.path, root, join(root, 'a'), join(root, 'a')]);
});

test('aligned memory is written directly, in one open file', async () => {
  await putObject(store, 'k', alignedBytes(65_536), alignedBytes(4096));
  const opens = disk.calls.filter((call) => call.operation === 'open');
  assert.equal(opens[0]?.mode?.direct, true);
  // Where the file system refuses, the second open is the buffered one.
  if (opens.length > 1) assert.notEqual(opens[1]?.mode?.direct, true);
  assert.deepEqual(Buffer.from(await store.read('k', 65_536, 4096)), Buffer.from(patternBytes(4096)));
});

test('a file system without direct writes is written buffered, and the refused file is removed', async () => {
  disk.on('open', (call) => {
    if (call.mode?.direct !== true) return;
    // As Linux does: the file exists although the flag was refused.
    writeFileSync(call.path, '');
    throw systemError('EINVAL');
  });
  await putObject(store, 'k', alignedBytes(8192));
  assert.deepEqual(Buffer.from(await store.read('k', 0, 8192)), Buffer.from(patternBytes(8192)));
  assert.deepEqual(readdirSync(root), ['k']);
});

test('memory that the kernel calls unaligned is written buffered from there on', async () => {
  let writes = 0;
  disk.on('write', () => {
    writes += 1;
    if (writes === 2) throw systemError('EINVAL');
  });
  await putObject(store, 'k', alignedBytes(4096), alignedBytes(8192), alignedBytes(4096));
  assert.equal(writes, 4);
  const expected = Buffer.concat([patternBytes(4096), patternBytes(8192), patternBytes(4096)]);
  assert.deepEqual(Buffer.from(await store.read('k', 0, 16_384)), expected);
});

test('an unaligned length in the middle goes on buffered and loses nothing', async () => {
  const parts = [alignedBytes(8192), patternBytes(100), alignedBytes(4096), patternBytes(3)];
  await putObject(store, 'k', ...parts);
  assert.deepEqual(Buffer.from(await store.read('k', 0, 12_391)), Buffer.concat(parts));
});

test('a large write goes to the kernel in bounded pieces', async () => {
  const bytes = alignedBytes(20 * 1024 * 1024);
  await putObject(store, 'k', bytes);
  assert.equal(disk.count('write'), 3);
  assert.deepEqual(Buffer.from(await store.read('k', 0, bytes.length)), Buffer.from(bytes));
});

const FAILURES = [
  { operation: 'write', error: 'ENOSPC', code: 'ERR_MILLRACE_DISK_FULL' },
  { operation: 'write', error: 'EDQUOT', code: 'ERR_MILLRACE_DISK_FULL' },
  { operation: 'write', error: 'EIO', code: 'ERR_MILLRACE_WRITE_FAILED' },
  { operation: 'sync', error: 'EIO', code: 'ERR_MILLRACE_WRITE_FAILED' },
  { operation: 'sync', error: 'ENOSPC', code: 'ERR_MILLRACE_DISK_FULL' },
  { operation: 'rename', error: 'EACCES', code: 'ERR_MILLRACE_WRITE_FAILED' },
] as const;

/** Written by the calling thread, and beside it. */
for (const length of [8192, 512 * 1024]) {
  for (const { operation, error, code } of FAILURES) {
    test(`${error} of a ${operation} ends the writer of ${length} bytes as ${code}, and abort leaves nothing`, async () => {
      disk.on(operation, () => {
        throw systemError(error);
      });
      const writer = await store.create('k');
      await assert.rejects(async () => {
        await writer.write(alignedBytes(length));
        await writer.commit();
      }, withCode(code));
      await assert.rejects(writer.write(alignedBytes(4096)), /AssertionError/);
      await assert.rejects(writer.commit(), /AssertionError/);
      assert.equal(disk.count(operation), 1, 'never tried again');
      await writer.abort();
      assert.deepEqual(readdirSync(root), []);
    });
  }

  test(`a short write of ${length} bytes without an error is a full disk`, async () => {
    disk.on('write', (call) => (call.length ?? 0) - 4096);
    const writer = await store.create('k');
    await assert.rejects(writer.write(alignedBytes(length)), withCode('ERR_MILLRACE_DISK_FULL'));
    await writer.abort();
    assert.deepEqual(readdirSync(root), []);
  });
}

test('abort waits for the write under way before it closes the file', async () => {
  const writer = await store.create('k');
  let written = false;
  const writing = writer.write(alignedBytes(4 * 1024 * 1024)).then(() => {
    written = true;
  });
  await writer.abort();
  assert.equal(written, true);
  await writing;
  assert.deepEqual(readdirSync(root), []);
});

test('when the directory sync after the rename fails, abort takes the object back', async () => {
  const writer = await store.create('k');
  await writer.write(alignedBytes(4096));
  disk.on('syncDirectory', () => {
    throw systemError('EIO');
  });
  await assert.rejects(writer.commit(), withCode('ERR_MILLRACE_WRITE_FAILED'));
  await writer.abort();
  assert.deepEqual(readdirSync(root), []);
});

test('abort does not reject when nothing can be removed', async () => {
  const writer = await store.create('k');
  disk.on('remove', () => {
    throw systemError('EIO');
  });
  await writer.abort();
  assert.equal(readdirSync(root).length, 1);
  disk.off('remove');
  await putObject(store, 'k', patternBytes(1));
  assert.equal(await store.size('k'), 1, 'what stayed behind is not in the way');
});

test('a folder that cannot be made fails the create with the path', async () => {
  disk.on('makeDirectory', () => {
    throw systemError('ENOSPC');
  });
  await assert.rejects(store.create('k'), withCode('ERR_MILLRACE_DISK_FULL'));
});
