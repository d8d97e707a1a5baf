/** The change of WAL files as a whole, on a disk that keeps each change of a name by itself. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { storePaths } from '../../src/store/paths.ts';
import { replaceWalFolder, settleWalFolder } from '../../src/store/wal-folder.ts';
import { type DiskSnapshot, SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { createSlotFiles } from '../../src/wal/slot-files.ts';

const STORE_ID: Uint8Array = new Uint8Array(16);
const PATHS = storePaths('/store');
const BEFORE = { slots: 2, slotBytes: 64 * 1024 };
const AFTER = { slots: 3, slotBytes: 64 * 1024 };

/** A store whose files were to be replaced before: what was made of the new ones was left behind. */
async function begin(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk();
  disk.makeDirectorySync(PATHS.root);
  disk.makeDirectorySync(PATHS.wal);
  await createSlotFiles({ fileSystem: disk, directory: PATHS.wal, storeId: STORE_ID, lane: 0 }, BEFORE);
  disk.makeDirectorySync(PATHS.walNew);
  for (const path of [PATHS.walNew, PATHS.wal, PATHS.root, '/']) disk.syncDirectorySync(path);
  return disk;
}

suite('a change of all WAL files', () => {
  test('a power loss at any step, whatever names it keeps, leaves the old files or the new ones', async () => {
    await loadChecksum();
    const disk = await begin();
    const points: DiskSnapshot[] = [];
    disk.onStep = () => points.push(disk.snapshot());
    settleWalFolder(disk, PATHS);
    await replaceWalFolder(disk, PATHS, STORE_ID, 0, AFTER);
    for (const [step, point] of points.entries()) {
      // Each set of the changes of names in the store's directory that are not synced: few at a time.
      for (let kept = 0; kept < 2 ** 6; kept += 1) {
        const after = SimulatedDisk.afterPowerLoss(point, {
          page: (_path, _page, images) => images - 1,
          size: (_path, _durable, live) => live,
          name: (directory, index, count) => {
            if (directory !== PATHS.root) return true;
            assert.ok(count <= 6);
            return Math.floor(kept / 2 ** index) % 2 === 1;
          },
        });
        settleWalFolder(after, PATHS);
        const names = after.listSync(PATHS.wal);
        assert.ok(
          [BEFORE.slots, AFTER.slots].includes(names.length),
          `step ${step}, names ${kept}: ${names.join(' ')}`,
        );
      }
    }
  });
});
