/** The two files that are read whole at open and hold one fact each: the store's identity, and the clean mark. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { hasLog, readIdentity } from '../../src/store/identity.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { takeCleanMark } from '../../src/wal/clean-mark.ts';
import { differs } from './damages.ts';
import { goldenDisk, goldenFile, goldenFiles, ROOT } from './golden-files.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { assertPlaced, type Subject } from './subject.ts';

function identitySubject(store: string): Subject {
  const files = goldenFiles(store);
  const path = join(ROOT, 'STORE');
  const bytes = goldenFile(store, 'STORE');
  const storeId = readIdentity(files, ROOT);
  const log = hasLog(files, ROOT);
  return {
    name: `${store}/STORE`,
    bytes,
    // Another store's identity is as good as any: that it is not this one's is seen in every other file.
    donors: [],
    check: (damaged) => {
      files.set(path, damaged);
      try {
        assert.deepEqual(readIdentity(files, ROOT), storeId);
        assert.equal(hasLog(files, ROOT), log);
      } catch (error) {
        assertPlaced(error, path);
        assert.ok(differs(bytes, damaged, 0, bytes.length));
        return;
      }
      assert.ok(!differs(bytes, damaged, 0, bytes.length), 'a changed identity was believed');
    },
  };
}

async function cleanMarkSubject(store: string): Promise<Subject> {
  const wal = join(ROOT, 'wal');
  const path = join(wal, 'lane-000.clean');
  const bytes = goldenFile(store, 'wal/lane-000.clean');
  const storeId = readIdentity(goldenFiles(store), ROOT);
  assert.ok(storeId !== undefined);
  const directory = join(ROOT, 'manifest');
  const coordinator = await openEmbeddedCoordinator({ fileSystem: goldenDisk(store), directory, storeId });
  const [flushed] = await coordinator.flushedSlots();
  await coordinator.close();
  assert.ok(flushed !== undefined);
  const take = (content: Uint8Array): unknown => {
    const disk = new SimulatedDisk();
    disk.put(path, content);
    return takeCleanMark({ fileSystem: disk, directory: wal, storeId, lane: 0 }, flushed);
  };
  const mark = take(bytes);
  assert.ok(mark !== undefined);
  return {
    name: `${store}/wal/lane-000.clean`,
    bytes,
    donors: [goldenFile(store === 'clean' ? 'compacted' : 'clean', 'wal/lane-000.clean')],
    // A mark that does not hold costs the reading of the log, and is no error.
    check: (damaged) => {
      assert.deepEqual(take(damaged), differs(bytes, damaged, 0, bytes.length) ? undefined : mark);
    },
  };
}

export async function smallSubjects(): Promise<Subject[]> {
  return [
    identitySubject('killed'),
    identitySubject('diskless'),
    await cleanMarkSubject('clean'),
    await cleanMarkSubject('compacted'),
  ];
}
