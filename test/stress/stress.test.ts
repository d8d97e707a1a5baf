/** Two seconds of `npm run test:stress`. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { runStress } from './store-stress.ts';

test('appends, readers, flushes, retention, trims and compaction at once: every value is whole and in its place', async (t) => {
  const directory = temporaryDirectory();
  t.after(() => directory.remove());
  const figures = await runStress({ dir: join(directory.path, 'store'), seed: 1, seconds: 2 });
  t.diagnostic(JSON.stringify(figures));
  assert.ok(figures.appended > 0 && figures.read > 0 && figures.segments > 0);
});
