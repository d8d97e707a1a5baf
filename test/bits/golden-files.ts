/** Golden stores in memory. */
import { join } from 'node:path';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { filesBelow, goldenPath, readBytes } from '../golden/fixtures.ts';

/** Where a golden store lies in its memory. */
export const ROOT = '/store';

/** A golden store's files in memory of their own. */
export function goldenFiles(name: string): SimulatedDisk {
  const fileSystem = new SimulatedDisk();
  for (const file of filesBelow(goldenPath(name))) {
    fileSystem.put(join(ROOT, file), readBytes(join(goldenPath(name), file)));
  }
  return fileSystem;
}
