/** A wall clock that jumps while an object is being written. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock, SteadyTime } from '../../src/base/clock.ts';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { DirectoryObjectStore } from '../../src/object/directory-object-store.ts';
import { Janitor } from '../../src/store/janitor.ts';
import { removeOrphans } from '../../src/store/orphans.ts';
import { Trimming } from '../../src/store/trimming.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const HOUR = 3_600_000;
const STORE_ID = new Uint8Array(16).fill(7);

test('a jump of the clock ahead takes no object from its writer, and what nobody writes goes in time', async (t) => {
  const directory = temporaryDirectory();
  t.after(() => directory.remove());
  const clock = new ManualClock(Date.now());
  const time = new SteadyTime(clock);
  const fileSystem = new NodeFileSystem();
  const place = { fileSystem, directory: directory.path };
  const coordinator = await openEmbeddedCoordinator({ ...place, storeId: STORE_ID, clock });
  const objects = new DirectoryObjectStore({ root: `${directory.path}/objects`, fileSystem });
  const nothing = (): Promise<void> => Promise.resolve();
  const trimming = new Trimming({ coordinator, clock, hasTruncations: () => false, flush: nothing, trimmed: nothing });
  const janitor = new Janitor(coordinator, objects, trimming, time);
  const search = { coordinator, objects, storeId: STORE_ID, time };

  const writer = await objects.create('segments/0000000000000001-000000000000.seg');
  await writer.write(new Uint8Array(4_096));
  await objects.create('segments/0000000000000002-000000000000.seg');
  clock.jump(clock.now() + 30 * HOUR);
  await janitor.round();
  assert.equal((await removeOrphans(search, { dryRun: true })).unfinished, 0);
  await writer.write(new Uint8Array(4_096));
  assert.equal(await writer.commit(), 8_192);

  clock.advance(3 * HOUR);
  assert.equal((await removeOrphans(search, { dryRun: true })).unfinished, 1);
  await janitor.round();
  assert.equal((await removeOrphans(search, { dryRun: true })).unfinished, 0);
  await coordinator.close();
});
