import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PACKAGE_VERSION } from '../../src/base/package-version.ts';

test('the version in the code is the one in package.json', () => {
  const manifest = readFileSync(join(import.meta.dirname, '..', '..', '..', 'package.json'), 'utf8');
  assert.equal(PACKAGE_VERSION, (JSON.parse(manifest) as { version: string }).version);
});
