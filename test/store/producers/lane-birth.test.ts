/** Crashes in the middle of making the files of a producer's lane. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { NodeFileSystem } from '../../../src/base/node-file-system.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { openEmbeddedCoordinator } from '../../../src/coordinator/embedded-coordinator.ts';
import { readIdentity } from '../../../src/store/identity.ts';
import { makeLane } from '../../../src/store/producers/lane-files.ts';
import { RecordingFileSystem } from '../../support/recording-file-system.ts';
import { numbered, SMALL_WAL, StoreFolder, texts } from '../../support/test-store.ts';
import { ProducerWorker } from './producer-worker.ts';

const GEOMETRY = { slots: 3, slotBytes: 64 * 1024 };

test('a crash between the files of a lane leaves a store that opens, also when the lane is an old one', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const producer = await ProducerWorker.start(store);
  await producer.do({ type: 'stream', name: 'a' });
  await producer.do({ type: 'append', name: 'a', values: numbered(10) });
  await producer.kill();
  await store.close();
  // Makes all WAL files anew: those of the lane go, and the coordinator still knows how far it was flushed.
  await (await folder.open({ wal: { ...SMALL_WAL, ...GEOMETRY } })).close();
  for (let renames = 1; renames <= GEOMETRY.slots + 1; renames += 1) {
    for (const lane of [1, renames + 1]) {
      await makeLaneUntil(folder.dir, lane, renames);
      const again = await folder.open({ wal: {} });
      assert.deepEqual(await texts((await again.stream('a')).read()), numbered(10));
      await again.close();
    }
    // Another geometry once more.
    await (await folder.open({ wal: { ...SMALL_WAL, slots: 2 + (renames % 2) } })).close();
  }
});

/** Nothing happens any more after so many renames of files in the WAL's directory. */
async function makeLaneUntil(dir: string, lane: number, renames: number): Promise<void> {
  const fileSystem = new NodeFileSystem();
  const storeId = readIdentity(fileSystem, dir);
  assert.ok(storeId !== undefined);
  const place = { directory: join(dir, 'manifest'), storeId, clock: systemClock, random: systemRandom };
  const coordinator = await openEmbeddedCoordinator({ fileSystem, readOnly: true, ...place });
  const dying = new RecordingFileSystem();
  const end = (): void => {
    if (dying.count('rename') > renames) throw new Error('the process ended');
  };
  for (const operation of ['rename', 'remove', 'open', 'write', 'syncDirectory'] as const) dying.on(operation, end);
  const files = { fileSystem: dying, walDirectory: join(dir, 'wal'), storeId, coordinator, lane, geometry: GEOMETRY };
  await makeLane({ ...files, start: undefined }).catch(() => undefined);
  await coordinator.close();
}
