/** The only place that knows what lies where in a store's directory. */
import { join } from 'node:path';
import { TEMPORARY_SUFFIX } from '../base/whole-file.ts';
import { LOCK_FILE, LOCK_GUARD, LOCK_SOCKET } from './lock.ts';
import { STORE_FILE } from './identity.ts';

export interface StorePaths {
  readonly root: string;
  readonly manifest: string;
  readonly wal: string;
  /** WAL files of another geometry, until they take the place of the present ones. */
  readonly walNew: string;
  /** WAL files that have been replaced. */
  readonly walOld: string;
  readonly objects: string;
}

export function storePaths(root: string): StorePaths {
  return {
    root,
    manifest: join(root, 'manifest'),
    wal: join(root, 'wal'),
    walNew: join(root, 'wal.new'),
    walOld: join(root, 'wal.old'),
    objects: join(root, 'objects'),
  };
}

/** Says that a restore into the directory is under way, or was cut short. */
export const RESTORE_MARK = 'RESTORING';

/** Names that a store, or its unfinished birth, may have in its directory. */
export const STORE_NAMES: ReadonlySet<string> = new Set([
  STORE_FILE,
  STORE_FILE + TEMPORARY_SUFFIX,
  LOCK_FILE,
  LOCK_SOCKET,
  LOCK_GUARD,
  'manifest',
  'wal',
  'objects',
]);
