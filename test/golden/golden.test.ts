/** Stores of every format version open, and hold what they held: in this version, and in all before it. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { open } from '../../src/index.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { contentOf, contentOfManifest, contentOfStore } from './content.ts';
import { copyGolden, filesBelow, goldenContent, goldenPath, goldenVersions, WRITTEN_VERSION } from './fixtures.ts';
import { RECIPES } from './recipes.ts';

/** What no test that changes every bit of a file can do without. */
const FILE_BYTES_MAX = 64 * 1024;

function scratch(t: TestContext, name: string): string {
  const directory = temporaryDirectory();
  t.after(() => directory.remove());
  return join(directory.path, name);
}

async function assertHolds(name: string, dir: string, content: unknown): Promise<void> {
  const found = await (name === 'manifest' ? contentOfManifest(dir) : contentOfStore(dir));
  assertIncludes(JSON.parse(JSON.stringify(found)), content, name);
}

/** Everything expected is there. What a later millrace says beyond that is its own affair. */
function assertIncludes(found: unknown, expected: unknown, path: string): void {
  if (typeof expected !== 'object' || expected === null) {
    assert.equal(found, expected, path);
    return;
  }
  assert.ok(typeof found === 'object' && found !== null, path);
  if (Array.isArray(expected)) assert.equal((found as unknown[]).length, expected.length, `${path}: length`);
  for (const [key, value] of Object.entries(expected)) {
    assertIncludes((found as Record<string, unknown>)[key], value, `${path}.${key}`);
  }
}

suite('golden stores', () => {
  test('are there for the version that is written', () => {
    assert.ok(goldenVersions().includes(WRITTEN_VERSION));
  });

  for (const version of goldenVersions()) {
    for (const { name, holds } of RECIPES) {
      test(`version ${version}, ${name}: ${holds}`, async (t) => {
        const dir = scratch(t, name);
        copyGolden(name, dir, version);
        await assertHolds(name, dir, goldenContent(name, version));
      });
    }
  }

  for (const { name, make } of RECIPES) {
    test(`what is written today holds the same: ${name}`, async (t) => {
      const dir = scratch(t, name);
      await make(dir, scratch(t, 'scratch'));
      await assertHolds(name, dir, goldenContent(name));
    });
  }

  test('are read the same by who may not write', async (t) => {
    for (const name of ['clean', 'compacted', 'diskless']) {
      const dir = scratch(t, name);
      copyGolden(name, dir);
      const store = await open({ dir, readOnly: true });
      const streams = await contentOf(store, true);
      await store.close();
      const expected = (goldenContent(name) as object[]).map((stream) => ({ ...stream, publishers: [] }));
      assert.deepEqual(JSON.parse(JSON.stringify(streams)), expected);
    }
  });

  test('are small enough to have every bit changed', () => {
    for (const { name } of RECIPES) {
      for (const file of filesBelow(goldenPath(name))) {
        assert.ok(statSync(join(goldenPath(name), file)).size <= FILE_BYTES_MAX, `${name}/${file}`);
      }
    }
  });
});
