/**
 * Changes the folder of the WAL files as a whole, so that a crash at any step leaves either the old files or the new
 * ones. By then all that the old files held is in segments: losing them late or early makes no difference, mixing them
 * with the new ones would.
 */
import { join } from 'node:path';
import type { FileSystem } from '../base/file-system.ts';
import { TEMPORARY_SUFFIX } from '../base/whole-file.ts';
import type { RingGeometry } from '../ring/geometry.ts';
import { isCleanMarkName } from '../wal/clean-mark.ts';
import { createSlotFiles, parseSlotFileName } from '../wal/slot-files.ts';
import type { StorePaths } from './paths.ts';

/** Puts files of `geometry`, empty, in the place of the present ones, which must hold nothing of value. */
export async function replaceWalFolder(
  fileSystem: FileSystem,
  paths: StorePaths,
  storeId: Uint8Array,
  lane: number,
  geometry: RingGeometry,
): Promise<void> {
  removeFolder(fileSystem, paths.walNew);
  fileSystem.makeDirectorySync(paths.walNew);
  await createSlotFiles({ fileSystem, directory: paths.walNew, storeId, lane }, geometry);
  fileSystem.syncDirectorySync(paths.walNew);
  // Before the old folder goes, the name of the new one is this one's, and not that of one that an earlier crash left.
  fileSystem.syncDirectorySync(paths.root);
  fileSystem.renameSync(paths.wal, paths.walOld);
  fileSystem.syncDirectorySync(paths.root);
  fileSystem.renameSync(paths.walNew, paths.wal);
  fileSystem.syncDirectorySync(paths.root);
  removeFolder(fileSystem, paths.walOld);
}

/** At open: finishes a replacement that a crash cut short, or takes it back, and clears what else it left. */
export function settleWalFolder(fileSystem: FileSystem, paths: StorePaths): void {
  const isThere = (path: string): boolean => fileSystem.statSync(path) !== undefined;
  // Only between the two renames is there no folder of the right name; the new one is complete then.
  if (!isThere(paths.wal) && isThere(paths.walOld)) {
    fileSystem.renameSync(isThere(paths.walNew) ? paths.walNew : paths.walOld, paths.wal);
    fileSystem.syncDirectorySync(paths.root);
  }
  removeFolder(fileSystem, paths.walNew);
  removeFolder(fileSystem, paths.walOld);
  if (isThere(paths.wal)) removeUnfinishedFiles(fileSystem, paths.wal);
}

function removeFolder(fileSystem: FileSystem, path: string): void {
  if (fileSystem.statSync(path) === undefined) return;
  for (const name of fileSystem.listSync(path)) fileSystem.removeSync(join(path, name));
  fileSystem.removeDirectorySync(path);
}

/** Of a lane that is opened later, or of fewer slots than before, nobody else would remove what a crash cut short. */
function removeUnfinishedFiles(fileSystem: FileSystem, directory: string): void {
  for (const name of fileSystem.listSync(directory)) {
    if (!name.endsWith(TEMPORARY_SUFFIX)) continue;
    const plain = name.slice(0, -TEMPORARY_SUFFIX.length);
    const isOurs = parseSlotFileName(plain) !== undefined || isCleanMarkName(plain);
    if (isOurs) fileSystem.removeSync(join(directory, name));
  }
}
