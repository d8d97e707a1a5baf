/** Golden stores in memory. */
import { join } from 'node:path';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { filesBelow, goldenPath, readBytes } from '../golden/fixtures.ts';
import { ReadOnlyFiles } from './read-only-files.ts';

/** Where a golden store lies in its memory. */
export const ROOT = '/store';

/** A golden store, for readers. */
export function goldenFiles(name: string): ReadOnlyFiles {
  const files = new ReadOnlyFiles();
  for (const file of filesBelow(goldenPath(name))) files.set(join(ROOT, file), goldenFile(name, file));
  return files;
}

/** A golden store on a disk that can be written to. */
export function goldenDisk(name: string): SimulatedDisk {
  const disk = new SimulatedDisk();
  for (const file of filesBelow(goldenPath(name))) disk.put(join(ROOT, file), goldenFile(name, file));
  return disk;
}

export function goldenFile(name: string, file: string): Uint8Array {
  return readBytes(join(goldenPath(name), file));
}
