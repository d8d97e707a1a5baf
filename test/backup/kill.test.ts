import { join } from 'node:path';
import { test } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import { StoreFolder } from '../support/test-store.ts';
import { killAndCheck } from './killed-writer.ts';

const KILLS = 2;

test('killed in the midst of a backup, the target holds whole ones with all that was acknowledged before', async (t) => {
  const folder = new StoreFolder(t);
  const target = join(folder.parent, 'backups');
  const seed = Date.now() % 1_000_000;
  t.diagnostic(`seed ${seed}`);
  await killAndCheck(folder, { argument: target, target }, KILLS, new SeededRandom(seed));
});
