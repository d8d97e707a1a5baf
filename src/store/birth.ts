/** From a path to a directory that holds a store: made, checked, and cleared of an unfinished birth. */
import { dirname, join, resolve, sep } from 'node:path';
import type { FileSystem } from '../base/file-system.ts';
import { isSystemError } from '../base/node-file-system.ts';
import { TEMPORARY_SUFFIX } from '../base/whole-file.ts';
import { CURRENT_NAME } from '../coordinator/manifest/format.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { readIdentity, STORE_FILE } from './identity.ts';
import { LOCK_FILE } from './lock.ts';
import { RESTORE_MARK, STORE_NAMES, type StorePaths, storePaths } from './paths.ts';

/** Where a store is or will be, and which directories had to be made for it, outermost first. */
export interface PreparedDirectory {
  readonly paths: StorePaths;
  readonly made: readonly string[];
}

/** Makes the directory and its parents where they are missing. Throws `ERR_MILLRACE_DIRECTORY_UNUSABLE`. */
export function prepareDirectory(fileSystem: FileSystem, dir: string): PreparedDirectory {
  const root = resolve(dir);
  const made: string[] = [];
  try {
    makeParents(fileSystem, root, made);
  } catch (error) {
    removeMade(fileSystem, made);
    throw openFailure(root, error);
  }
  return { paths: storePaths(root), made };
}

/** Makes the directory, and its parents where they are missing; notes them in `made`, outermost first. */
export function makeParents(fileSystem: FileSystem, path: string, made: string[]): void {
  const stat = fileSystem.statSync(path);
  if (stat?.kind === 'file') throw unusable(path, 'it is a file: choose a directory');
  // The dot makes a link tell of what it leads to.
  if (stat?.kind === 'directory' || (stat && fileSystem.statSync(path + sep + '.'))) return;
  if (stat === undefined) {
    makeParents(fileSystem, dirname(path), made);
    made.push(path);
  }
  fileSystem.makeDirectorySync(path);
  fileSystem.syncDirectorySync(dirname(path));
}

/** Takes back a birth that failed, under the lock: what was there before is all that is left. Never throws. */
export function undoBirth(fileSystem: FileSystem, paths: StorePaths): void {
  try {
    for (const folder of [paths.manifest, paths.wal, paths.objects]) {
      if (fileSystem.statSync(folder)?.kind !== 'directory') continue;
      clearFolder(fileSystem, folder);
      fileSystem.removeDirectorySync(folder);
    }
    for (const name of [STORE_FILE + TEMPORARY_SUFFIX, LOCK_FILE]) fileSystem.removeSync(join(paths.root, name));
  } catch {
    // What stays is an unfinished birth, which the next `open` clears.
  }
}

/** Removes directories that were made here; those that hold something by now stay. Never throws. */
export function removeMade(fileSystem: FileSystem, made: readonly string[]): void {
  try {
    for (const path of [...made].reverse()) {
      if (fileSystem.statSync(path) === undefined) continue;
      if (fileSystem.listSync(path).length > 0) return;
      fileSystem.removeDirectorySync(path);
    }
  } catch {
    // Somebody else has come to use one of them, or may not let it go.
  }
}

/** Throws for a directory that a restore has begun to fill. */
export function refuseRestoring(fileSystem: FileSystem, root: string): void {
  if (fileSystem.statSync(join(root, RESTORE_MARK)) === undefined) return;
  throw unusable(root, 'a restore into it was cut short: run it again');
}

/** The store's id; `undefined` when the directory is empty or a birth in it was cut short. */
export function findStore(fileSystem: FileSystem, paths: StorePaths): Uint8Array | undefined {
  const storeId = readIdentity(fileSystem, paths.root);
  if (storeId !== undefined) {
    // The restore was cut short behind its last step.
    fileSystem.removeSync(join(paths.root, RESTORE_MARK));
    return storeId;
  }
  refuseRestoring(fileSystem, paths.root);
  const stranger = fileSystem.listSync(paths.root).find((name) => !STORE_NAMES.has(name));
  if (stranger !== undefined) {
    throw unusable(
      paths.root,
      `it is no millrace store and holds other files (${stranger}): choose an empty directory`,
    );
  }
  return undefined;
}

/** A store that was born has a manifest: without it all records would pass for garbage. */
export function checkManifest(fileSystem: FileSystem, paths: StorePaths): void {
  const path = join(paths.manifest, CURRENT_NAME);
  if (fileSystem.statSync(path) !== undefined) return;
  throw new MillraceError('ERR_MILLRACE_MANIFEST_CORRUPT', `${path}: it is missing: restore it from a backup`, {
    details: { file: path },
  });
}

/** Makes the folders of a new store, empty: a birth that was cut short may have left files in them. */
export function makeFolders(fileSystem: FileSystem, paths: StorePaths): void {
  for (const folder of [paths.manifest, paths.wal, paths.objects]) {
    fileSystem.makeDirectorySync(folder);
    clearFolder(fileSystem, folder);
    fileSystem.syncDirectorySync(folder);
  }
  fileSystem.syncDirectorySync(paths.root);
  syncParents(fileSystem, paths.root);
}

/**
 * Of a store that is there: it may be the work of a process that was killed before it had synced what it had made, or
 * renamed. Without this a power loss would take those names, with all that was acknowledged behind them since.
 */
export function settleNames(fileSystem: FileSystem, paths: StorePaths): void {
  fileSystem.syncDirectorySync(paths.root);
  if (fileSystem.statSync(paths.wal)?.kind === 'directory') fileSystem.syncDirectorySync(paths.wal);
}

/** The same of the directories on the way to a store that is born: nobody else will look after them. */
function syncParents(fileSystem: FileSystem, root: string): void {
  for (let path = root; path !== dirname(path); path = dirname(path)) {
    try {
      fileSystem.syncDirectorySync(dirname(path));
    } catch (error) {
      // Who may not read it has made nothing in it, and some file systems have no such sync.
      if (!isSystemError(error, 'EACCES', 'EPERM', 'EINVAL', 'EROFS', 'ENOTSUP')) throw error;
    }
  }
}

function clearFolder(fileSystem: FileSystem, folder: string): void {
  const names = fileSystem.listSync(folder);
  if (names.includes(CURRENT_NAME)) {
    // First, and durably: a crash must not leave one that names files which are gone, as of a store that lost them.
    fileSystem.removeSync(join(folder, CURRENT_NAME));
    fileSystem.syncDirectorySync(folder);
  }
  for (const name of names) {
    const path = join(folder, name);
    if (fileSystem.statSync(path)?.kind === 'file') fileSystem.removeSync(path);
  }
}

/** Turns a system error of the store's directory into a coded one; others pass. */
export function openFailure(root: string, error: unknown): unknown {
  if (error instanceof MillraceError || !isAnySystemError(error)) return error;
  if (isSystemError(error, 'ENOSPC', 'EDQUOT')) {
    const message = `${root}: the disk is full: make room, then open the store again`;
    return new MillraceError('ERR_MILLRACE_DISK_FULL', message, { details: { directory: root }, cause: error });
  }
  return unusable(root, `${error.message}: ${remedyOf(error)}`, error);
}

function isAnySystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

function remedyOf(error: NodeJS.ErrnoException): string {
  if (isSystemError(error, 'EACCES', 'EPERM', 'EROFS')) return 'check who may write there';
  if (isSystemError(error, 'ENOTDIR')) return 'a part of the path is a file, choose a directory';
  // A parent that cannot be made, as under /proc: nothing of a store was ever there to be restored.
  if (isSystemError(error, 'ENOENT') && error.syscall === 'mkdir') return 'check the path';
  if (isSystemError(error, 'ENOENT')) return 'a part of the store is missing, restore it from a backup';
  if (isSystemError(error, 'EMFILE', 'ENFILE')) return 'too many files are open, raise the limit';
  return 'check the path and the disk';
}

function unusable(root: string, reason: string, cause?: unknown): MillraceError {
  return new MillraceError('ERR_MILLRACE_DIRECTORY_UNUSABLE', `${root} cannot hold a store: ${reason}`, {
    details: { directory: root },
    cause,
  });
}
