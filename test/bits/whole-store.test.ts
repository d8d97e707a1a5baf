/** Damage to one file of a store that is used as a whole. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { isMillraceError } from '../../src/index.ts';
import { contentOfStore } from '../golden/content.ts';
import { copyGolden, filesBelow, goldenContent, goldenPath } from '../golden/fixtures.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { assertReported } from './subject.ts';
import { Sweep } from './sweep.ts';
import { wholeStoreSubjects } from './whole-store.ts';

const CASES_PER_FILE = 6;

suite('a store with one damaged file', () => {
  before(loadChecksum);

  test('returns what was written, and all that lies elsewhere', async (t) => {
    const directory = temporaryDirectory();
    t.after(() => directory.remove());
    for (const subject of wholeStoreSubjects(directory.path)) {
      const sweep = new Sweep(subject, 3);
      for (let index = 0; index < CASES_PER_FILE; index += 1) await sweep.next();
    }
  });

  test('does so without the file, too', async (t) => {
    const directory = temporaryDirectory();
    t.after(() => directory.remove());
    for (const subject of wholeStoreSubjects(directory.path)) await subject.checkMissing();
  });

  test('and records in flight is refused without a file, or loses none of them', async (t) => {
    const directory = temporaryDirectory();
    t.after(() => directory.remove());
    for (const file of filesBelow(goldenPath('killed'))) {
      const dir = join(directory.path, file.replaceAll('/', ' '));
      copyGolden('killed', dir);
      rmSync(join(dir, file));
      await refusedOrWhole(dir);
    }
  });
});

async function refusedOrWhole(dir: string): Promise<void> {
  let content: unknown;
  try {
    content = await contentOfStore(dir);
  } catch (error) {
    // An object that is gone, and a directory that is no store any more, are no damage of bytes.
    const missing = ['ERR_MILLRACE_OBJECT_NOT_FOUND', 'ERR_MILLRACE_DIRECTORY_UNUSABLE'];
    if (!isMillraceError(error) || !missing.includes(error.code)) assertReported(error, '');
    return;
  }
  assert.deepEqual(JSON.parse(JSON.stringify(content)), goldenContent('killed'));
}
