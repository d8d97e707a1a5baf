/** The page on known bugs of other designs names tests: they are there. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from './snippets.ts';

/** `` `test/folder/file.test.ts`: the name of a test`` up to the end of its cell or line. */
const NAMED_TEST = /`((?:test|src)\/[\w/.-]+\.ts)`: (.+?)(?=<br>| \|)/g;

test('every test that guards a known bug is where the page says', () => {
  const page = readFileSync(join(ROOT, 'docs/prior-art.md'), 'utf8');
  const named = [...page.matchAll(NAMED_TEST)].map(([, file = '', name = '']) => ({ file, name }));
  const rows = page.split('\n').filter((line) => /^\| [A-Z]/.test(line));
  const bare = rows.filter((row) => row.search(NAMED_TEST) < 0);
  assert.deepEqual(bare, [], 'each bug has a test');
  const missing = named.filter(({ file, name }) => !readFileSync(join(ROOT, file), 'utf8').includes(name));
  assert.deepEqual(missing, []);
  assert.ok(named.length >= rows.length && rows.length > 50);
});
