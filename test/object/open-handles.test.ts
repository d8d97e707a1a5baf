import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { OpenHandles } from '../../src/object/open-handles.ts';
import { withCode } from '../../src/testing/object-store-contract.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { RecordingFileSystem } from '../support/recording-file-system.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/temporary-directory.ts';

let directory: TemporaryDirectory;
let disk: RecordingFileSystem;
beforeEach(() => {
  directory = temporaryDirectory();
  disk = new RecordingFileSystem();
  for (const name of ['a', 'b', 'c']) writeFileSync(join(directory.path, name), name.repeat(10));
});
afterEach(() => {
  assert.equal(disk.openHandles, 0, 'every file was closed');
  directory.remove();
});

function at(name: string): string {
  return join(directory.path, name);
}

const bytesOf = async ({ bytes }: { bytes: number }): Promise<number> => bytes;

test('a file is opened once for many readers', async () => {
  const handles = new OpenHandles(disk, 2);
  assert.deepEqual(await Promise.all([handles.use(at('a'), bytesOf), handles.use(at('a'), bytesOf)]), [10, 10]);
  assert.equal(await handles.use(at('a'), bytesOf), 10);
  assert.equal(disk.count('open'), 1);
  await handles.close();
});

test('the least recently used file is the one that is closed', async () => {
  const handles = new OpenHandles(disk, 2);
  await handles.use(at('a'), bytesOf);
  await handles.use(at('b'), bytesOf);
  await handles.use(at('a'), bytesOf);
  await handles.use(at('c'), bytesOf);
  assert.equal(handles.size, 2);
  await handles.use(at('a'), bytesOf);
  assert.equal(disk.count('open'), 3, 'a stayed open, b was closed');
  await handles.close();
});

test('a file that is closed to make room serves its readers to the end', async () => {
  const handles = new OpenHandles(disk, 1);
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = handles.use(at('a'), async ({ handle }) => {
    await gate;
    const target = new Uint8Array(10);
    await handle.read(target, 0, 10, 0);
    return Buffer.from(target).toString();
  });
  await handles.use(at('b'), bytesOf);
  assert.equal(disk.count('close'), 0);
  release();
  assert.equal(await slow, 'aaaaaaaaaa');
  await handles.close();
  assert.equal(disk.count('close'), 2);
});

test('a file that could not be opened is tried again', async () => {
  const handles = new OpenHandles(disk, 2);
  disk.on('open', () => {
    throw systemError('EMFILE');
  });
  await assert.rejects(handles.use(at('a'), bytesOf), /EMFILE/);
  disk.off('open');
  assert.equal(await handles.use(at('a'), bytesOf), 10);
  await handles.close();
});

test('a file whose size cannot be read is closed again', async () => {
  const handles = new OpenHandles(disk, 2);
  disk.on('size', () => {
    throw systemError('EIO');
  });
  await assert.rejects(handles.use(at('a'), bytesOf), /EIO/);
  await handles.close();
});

test('a retired file is opened anew', async () => {
  const handles = new OpenHandles(disk, 2);
  await handles.use(at('a'), bytesOf);
  handles.retire(at('a'));
  writeFileSync(at('a'), 'longer than before');
  assert.equal(await handles.use(at('a'), bytesOf), 18);
  await handles.close();
});

test('a symbolic link is not opened', async () => {
  symlinkSync(at('a'), at('link'));
  const handles = new OpenHandles(disk, 2);
  await assert.rejects(handles.use(at('link'), bytesOf), withCode('ERR_MILLRACE_DIRECTORY_UNUSABLE'));
  assert.equal(disk.count('open'), 0);
  await handles.close();
});

test('after close nothing is opened any more', async () => {
  const handles = new OpenHandles(disk, 2);
  await handles.use(at('a'), bytesOf);
  await handles.close();
  await assert.rejects(handles.use(at('a'), bytesOf), withCode('ERR_MILLRACE_CLOSED'));
});

test('close waits for the readers and closes their files', async () => {
  const handles = new OpenHandles(disk, 2);
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = handles.use(at('a'), () => gate);
  const closing = handles.close();
  release();
  await closing;
  assert.equal(disk.openHandles, 0);
  await slow;
});
