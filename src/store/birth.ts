/** From a path to a directory that holds a store: made, checked, and cleared of an unfinished birth. */
import { dirname, join, resolve } from 'node:path';
import type { FileSystem } from '../base/file-system.ts';
import { isSystemError } from '../base/node-file-system.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { readIdentity } from './identity.ts';
import { STORE_NAMES, type StorePaths, storePaths } from './paths.ts';

/** Makes the directory and its parents where they are missing. Throws `ERR_MILLRACE_DIRECTORY_UNUSABLE`. */
export function prepareDirectory(fileSystem: FileSystem, dir: string): StorePaths {
  const root = resolve(dir);
  try {
    makeParents(fileSystem, root);
  } catch (error) {
    throw unusable(root, error instanceof Error ? error.message : String(error), error);
  }
  return storePaths(root);
}

function makeParents(fileSystem: FileSystem, path: string): void {
  const stat = fileSystem.statSync(path);
  if (stat?.kind === 'directory') return;
  if (stat?.kind === 'file') throw new Error('it is a file');
  if (stat === undefined) makeParents(fileSystem, dirname(path));
  fileSystem.makeDirectorySync(path);
  fileSystem.syncDirectorySync(dirname(path));
}

/** The store's id; `undefined` when the directory is empty or a birth in it was cut short. */
export function findStore(fileSystem: FileSystem, paths: StorePaths): Uint8Array | undefined {
  const storeId = readIdentity(fileSystem, paths.root);
  if (storeId !== undefined) return storeId;
  const stranger = fileSystem.listSync(paths.root).find((name) => !STORE_NAMES.has(name));
  if (stranger !== undefined) {
    throw unusable(
      paths.root,
      `it is no millrace store and holds other files (${stranger}): choose an empty directory`,
    );
  }
  return undefined;
}

/** Makes the folders of a new store, empty: a birth that was cut short may have left files in them. */
export function makeFolders(fileSystem: FileSystem, paths: StorePaths): void {
  for (const folder of [paths.manifest, paths.wal, paths.objects]) {
    fileSystem.makeDirectorySync(folder);
    for (const name of fileSystem.listSync(folder)) {
      const path = join(folder, name);
      if (fileSystem.statSync(path)?.kind === 'file') fileSystem.removeSync(path);
    }
    fileSystem.syncDirectorySync(folder);
  }
  fileSystem.syncDirectorySync(paths.root);
}

/** Turns a system error of the store's directory into a coded one; others pass. */
export function openFailure(root: string, error: unknown): unknown {
  if (error instanceof MillraceError) return error;
  if (isSystemError(error, 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) {
    return unusable(root, (error as Error).message, error);
  }
  if (isSystemError(error, 'ENOSPC', 'EDQUOT')) {
    return new MillraceError(
      'ERR_MILLRACE_DISK_FULL',
      `${root}: the disk is full: make room, then open the store again`,
      {
        details: { directory: root },
        cause: error,
      },
    );
  }
  return error;
}

function unusable(root: string, reason: string, cause?: unknown): MillraceError {
  return new MillraceError('ERR_MILLRACE_DIRECTORY_UNUSABLE', `${root} cannot hold a store: ${reason}`, {
    details: { directory: root },
    cause,
  });
}
