/**
 * Files that are there whole or not at all, whenever power fails: written under a temporary name, synced, then renamed.
 * Whoever finds a temporary name may remove it.
 */
import { dirname } from 'node:path';
import { shortWrite } from '../errors/write-failure.ts';
import type { FileHandle, FileSystem } from './file-system.ts';

export const TEMPORARY_SUFFIX = '.tmp';

/** Writes everything or fails: a short count is a full disk, whether or not the system says so. */
export function writeWholeSync(handle: FileHandle, bytes: Uint8Array, position: number): void {
  const written = handle.writeSync(bytes, 0, bytes.length, position);
  if (written !== bytes.length) throw shortWrite(handle.path, written, bytes.length, position);
}

/** As `writeWholeSync`, off the calling thread. */
export async function writeWhole(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  const written = await handle.write(bytes, 0, bytes.length, position);
  if (written !== bytes.length) throw shortWrite(handle.path, written, bytes.length, position);
}

/** Makes a small file, or replaces it, durably: its directory is synced too. */
export function replaceFileSync(fileSystem: FileSystem, path: string, bytes: Uint8Array): void {
  const temporary = path + TEMPORARY_SUFFIX;
  fileSystem.removeSync(temporary);
  const handle = fileSystem.openSync(temporary, { access: 'create' });
  try {
    writeWholeSync(handle, bytes, 0);
    handle.syncSync();
  } finally {
    handle.closeSync();
  }
  fileSystem.renameSync(temporary, path);
  fileSystem.syncDirectorySync(dirname(path));
}

/**
 * Makes a file of what `write` writes, or replaces it; `direct` as in `OpenMode`. The name is durable once the caller
 * has synced the directory: several files share that.
 */
export async function replaceFile<Result>(
  fileSystem: FileSystem,
  path: string,
  write: (handle: FileHandle) => Promise<Result>,
  { direct = false }: { readonly direct?: boolean } = {},
): Promise<Result> {
  const temporary = path + TEMPORARY_SUFFIX;
  fileSystem.removeSync(temporary);
  const handle = await fileSystem.open(temporary, { access: 'create', direct });
  let result: Result;
  try {
    result = await write(handle);
    await handle.sync();
  } finally {
    await handle.close();
  }
  fileSystem.renameSync(temporary, path);
  return result;
}

/** Fills `target` with what the file holds from `position` on. Returns the count, less than its length at the end. */
export function readFileAtSync(fileSystem: FileSystem, path: string, target: Uint8Array, position = 0): number {
  const handle = fileSystem.openSync(path, { access: 'read' });
  try {
    return handle.readSync(target, 0, target.length, position);
  } finally {
    handle.closeSync();
  }
}
