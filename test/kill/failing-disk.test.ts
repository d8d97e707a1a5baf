/** A device that fails under a store: what syncs say then is not invented by a test. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { checkStore } from './campaign-round.ts';
import { Expectation } from './expectation.ts';
import { FailingDisk, whyNoFailingDisk } from './failing-disk.ts';
import type { FileSystemName } from './image-mounts.ts';
import { survive } from './survival.ts';
import { workloadNamed } from './workloads.ts';

const STOPPED = /^ERR_MILLRACE_(WRITE_FAILED|DISK_FULL)$/;
const workload = 'merges';

for (const name of ['ext4', 'xfs'] satisfies FileSystemName[]) {
  const skip = whyNoFailingDisk(name) ?? false;
  test(`a ${name} whose device fails stops the store, and loses nothing`, { skip }, async (t) => {
    await loadChecksum();
    const directory = temporaryDirectory();
    const disk = new FailingDisk(directory.path, name);
    t.after(() => {
      disk.remove();
      directory.remove();
    });
    const dir = join(disk.path, 'store');
    const expectation = new Expectation(workloadNamed(workload));
    const survival = await survive({
      trial: {
        dir,
        workload,
        seed: 1,
        wal: { slots: 3, slotBytes: 64 * 1024, flushInterval: 20 },
        // Far more than it takes until the failing disk is noticed, which ends the work.
        milliseconds: 120_000,
      },
      scratch: directory.path,
      expectation,
      acknowledged: () => setTimeout(() => disk.fail(), 300),
    });
    for (const code of [survival.append, ...survival.errors]) assert.match(code, STOPPED);
    assert.ok(expectation.records > 0);
    disk.repair();
    await checkStore(workload, dir, expectation);
  });
}
