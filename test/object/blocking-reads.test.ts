import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import type { FileHandle, FileSystem, OpenMode } from '../../src/base/file-system.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';
import { BlockingReads } from '../../src/object/blocking-reads.ts';
import { DirectoryObjectStore } from '../../src/object/directory-object-store.ts';
import { KIB } from '../../src/limits/limits.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const FAST = 0.01;
const SLOW = 5;

/** How many of `count` short reads block, each of which takes so long. */
function blockingOf(reads: BlockingReads, count: number, milliseconds: number): number {
  let blocking = 0;
  for (let index = 0; index < count; index += 1) {
    if (!reads.takes(KIB)) continue;
    blocking += 1;
    reads.took(milliseconds);
  }
  return blocking;
}

describe('reads that block', () => {
  it('are all short ones as long as they are fast, and no long one', () => {
    const reads = new BlockingReads();
    assert.equal(blockingOf(reads, 1_000, FAST), 1_000);
    assert.equal(reads.takes(64 * KIB), true);
    assert.equal(reads.takes(64 * KIB + 1), false);
  });

  it('become rarer with each one that is slow, and are all of them again after a fast one', () => {
    const reads = new BlockingReads();
    assert.equal(blockingOf(reads, 17, SLOW), 1);
    assert.equal(blockingOf(reads, 33, SLOW), 1);
    assert.ok(blockingOf(reads, 100_000, SLOW) < 40, 'a slow disk holds up the thread in one of thousands');
    assert.ok(blockingOf(reads, 10_000, FAST) > 5_000);
    assert.equal(blockingOf(reads, 1, SLOW) + blockingOf(reads, 17, SLOW), 2);
  });
});

/** Blocking reads take `readTime` on `clock`. */
class CountingFiles extends NodeFileSystem implements FileSystem {
  readonly clock = new ManualClock();
  readTime = FAST;
  failing = false;
  blocking = 0;
  beside = 0;

  override async open(path: string, mode: OpenMode): ReturnType<NodeFileSystem['open']> {
    const handle = await super.open(path, mode);
    const readSync = handle.readSync.bind(handle);
    const read = handle.read.bind(handle);
    const counted: Pick<FileHandle, 'read' | 'readSync'> = {
      readSync: (...call) => {
        this.blocking += 1;
        this.clock.advance(this.readTime);
        if (this.failing) throw systemError('EIO');
        return readSync(...call);
      },
      read: (...call) => {
        this.beside += 1;
        return read(...call);
      },
    };
    return Object.assign(handle, counted);
  }
}

describe('a directory of objects', () => {
  it('answers short reads the long way once they are slow, with the same bytes', async () => {
    const directory = temporaryDirectory();
    const files = new CountingFiles();
    const store = new DirectoryObjectStore({
      root: join(directory.path, 'objects'),
      fileSystem: files,
      clock: files.clock,
    });
    try {
      const content = Buffer.from(Array.from({ length: 200 * KIB }, (_, index) => index % 251));
      const writer = await store.create('a/b');
      await writer.write(content);
      await writer.commit();
      const check = async (position: number, length: number): Promise<void> => {
        assert.deepEqual(await store.read('a/b', position, length), content.subarray(position, position + length));
      };
      for (let index = 0; index < 10; index += 1) await check(index * KIB, 3 * KIB);
      assert.deepEqual([files.blocking, files.beside], [10, 0]);
      await check(0, 200 * KIB);
      assert.deepEqual([files.blocking, files.beside], [10, 1]);
      files.readTime = SLOW;
      for (let index = 0; index < 10; index += 1) await check(index * KIB, 3 * KIB);
      assert.deepEqual([files.blocking, files.beside], [11, 10]);
      files.failing = true;
      for (let index = 0; index < 40; index += 1) await store.read('a/b', 0, KIB).catch(() => undefined);
      assert.deepEqual([files.blocking, files.beside], [12, 49], 'a read that fails late counts as a slow one');
    } finally {
      await store.close();
      directory.remove();
    }
  });
});
