/** Where backups go: a directory, or any object store. */
import { resolve } from 'node:path';
import type { BackupPlace } from '../backup/backup.ts';
import { NodeFileSystem } from '../base/node-file-system.ts';
import { describeDirectory } from '../object/directory-component.ts';
import { DirectoryObjectStore } from '../object/directory-object-store.ts';
import type { ObjectStoreComponent } from '../object/object-store.ts';
import { makeParents, openFailure } from './birth.ts';
import { lockStore, type StoreLock } from './lock.ts';
import { invalid } from './option-checks.ts';

/** A directory, or an object store such as `s3({ bucket, prefix })` whose prefix nothing else uses. */
export type BackupTarget = string | ObjectStoreComponent;

/** Runs `work` on the target; `write` makes a directory that is missing, and keeps other writers out of it. */
export async function withTarget<T>(
  target: BackupTarget,
  access: 'read' | 'write',
  work: (place: BackupPlace) => Promise<T>,
): Promise<T> {
  const component = typeof target === 'string' ? describeDirectory(checkPath(target)) : target;
  const lock = typeof target === 'string' && access === 'write' ? await claim(resolve(target)) : undefined;
  try {
    const objects = await openTarget(target, component);
    try {
      // What a backup that was killed left half written: nobody else writes here.
      if (lock !== undefined) await objects.removeUnfinished(Infinity);
      return await work({ objects, descriptor: component.descriptor });
    } finally {
      await objects.close();
    }
  } finally {
    await lock?.release();
  }
}

/** A directory is not made by looking into it. */
function openTarget(target: BackupTarget, component: ObjectStoreComponent): Promise<BackupPlace['objects']> {
  if (typeof target !== 'string') return component.open();
  return Promise.resolve(new DirectoryObjectStore({ root: resolve(target), fileSystem: new NodeFileSystem() }));
}

async function claim(root: string): Promise<StoreLock> {
  try {
    makeParents(new NodeFileSystem(), root, []);
    return await lockStore(root);
  } catch (error) {
    throw openFailure(root, error);
  }
}

function checkPath(path: string): string {
  if (path === '' || path.includes('\0'))
    throw invalid('a backup target is the path of a directory or an object store');
  return path;
}
