/** A link in the place of a file of the store is refused: nothing outside the directory is read for it, or changed. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isMillraceError, open } from '../../src/index.ts';
import { contentOf } from '../golden/content.ts';
import { copyGolden, filesBelow, goldenContent, goldenPath } from '../golden/fixtures.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const skip = process.platform === 'win32' ? 'links need a privilege on Windows' : false;

/** Opens, reads and checks everything; what is wrong, as an error or as a problem that `verify` tells. */
async function useAll(dir: string): Promise<unknown> {
  const store = await open({ dir, compaction: false });
  try {
    const { problems } = await store.verify();
    await contentOf(store);
    return problems.length > 0 ? problems : undefined;
  } finally {
    await store.close();
  }
}

/** Of files of one kind, one. */
const FILES = [
  ...filesBelow(goldenPath('clean')).filter((file) => !/slot-00[12]|0002-/.test(file)),
  'wal/lane-000-slot-000.wal',
].map((file, index, files) => ({ file, name: files.indexOf(file) < index ? 'killed' : 'clean' }));

for (const { name, file } of FILES) {
  test(`a link in the place of ${name}/${file}`, { skip }, async (t) => {
    const directory = temporaryDirectory();
    t.after(() => directory.remove());
    const dir = join(directory.path, 'store');
    copyGolden(name, dir);
    const outside = join(directory.path, 'outside');
    mkdirSync(outside);
    const target = join(outside, 'file');
    renameSync(join(dir, file), target);
    symlinkSync(target, join(dir, file));
    const before = readFileSync(target);
    const problem = await useAll(dir).catch((error: unknown) => error);
    assert.ok(problem !== undefined, 'it was followed');
    if (problem instanceof Error) assert.ok(isMillraceError(problem), String(problem));
    assert.deepEqual(readFileSync(target), before);
  });
}

test('a folder of the store may be a link: where it lies is for the user to say', { skip }, async (t) => {
  for (const folder of ['wal', 'objects', 'manifest']) {
    const directory = temporaryDirectory();
    t.after(() => directory.remove());
    const dir = join(directory.path, 'store');
    copyGolden('killed', dir);
    renameSync(join(dir, folder), join(directory.path, folder));
    symlinkSync(join(directory.path, folder), join(dir, folder));
    const store = await open({ dir, compaction: false });
    assert.deepEqual(JSON.parse(JSON.stringify(await contentOf(store))), goldenContent('killed'), folder);
    await store.close();
  }
});
