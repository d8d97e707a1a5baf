/** Every error code is documented once, and provoked by a test. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { ERROR_CODES, type ErrorCode } from '../../src/errors/codes.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** Codes whose tests are still to be written. The list only shrinks: a code that a test provokes has to leave it. */
const NOT_YET_PROVOKED: readonly ErrorCode[] = [];

const codes = Object.keys(ERROR_CODES) as ErrorCode[];

/** Everything under test/ but this file, as one text. */
function testSources(): string {
  const folder = join(ROOT, 'test');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && path !== join('errors', 'codes.test.ts'))
    .map((path) => readFileSync(join(folder, path), 'utf8'))
    .join('\n');
}

/** A longer code does not count for a shorter one that it starts with. */
function mentions(text: string, code: ErrorCode): number {
  return text.match(new RegExp(`\\b${code}\\b`, 'g'))?.length ?? 0;
}

suite('error codes', () => {
  test('each has exactly one row in docs/errors.md', () => {
    const page = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8');
    const rows = page.split('\n').filter((line) => line.startsWith('| `ERR_'));
    assert.deepEqual(rows.map((row) => row.split('`')[1]).sort(), [...codes].sort());
  });

  test('docs/errors.md says what the comments in the source say', () => {
    const script = join(ROOT, '.ci', 'generate-error-docs.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  });

  test('each is provoked by a test', (context) => {
    const text = testSources();
    const unprovoked = codes.filter((code) => mentions(text, code) === 0);
    for (const code of NOT_YET_PROVOKED) context.diagnostic(`not provoked yet: ${code}`);
    const missing = unprovoked.filter((code) => !NOT_YET_PROVOKED.includes(code));
    assert.ok(missing.length === 0, `no test provokes ${missing.join(', ')}`);
    const done = NOT_YET_PROVOKED.filter((code) => !unprovoked.includes(code));
    assert.ok(done.length === 0, `now provoked, take off NOT_YET_PROVOKED: ${done.join(', ')}`);
  });

  test('each can be told from the others by its name', () => {
    for (const code of codes) assert.match(code, /^ERR_MILLRACE(_[A-Z]+)+$/);
  });
});
