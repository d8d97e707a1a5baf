/** Where backups go: a directory, or any object store. */
import { dirname, resolve } from 'node:path';
import type { BackupPlace } from '../backup/backup.ts';
import { NodeFileSystem, realPath } from '../base/node-file-system.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import { describeDirectory } from '../object/directory-component.ts';
import { DirectoryObjectStore } from '../object/directory-object-store.ts';
import type { ObjectStoreComponent, ObjectStoreDescriptor } from '../object/object-store.ts';
import { makeParents, openFailure } from './birth.ts';
import { hasIdentity } from './identity.ts';
import { lockStore, type StoreLock } from './lock.ts';
import { checkComponent, invalid } from '../errors/argument-checks.ts';

/** A directory, or an object store such as `s3({ bucket, prefix })` whose prefix nothing else uses. */
export type BackupTarget = string | ObjectStoreComponent;

const TARGET = 'a backup target is the path of a directory or an object store';

/** Runs `work` on the target; `write` makes a directory that is missing, and keeps other writers out of it. */
export async function withTarget<T>(
  target: BackupTarget,
  access: 'read' | 'write',
  work: (place: BackupPlace) => Promise<T>,
): Promise<T> {
  const component = componentOf(target);
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

/** What a target is, before anything in it is touched. */
export function descriptorOf(target: BackupTarget): ObjectStoreDescriptor {
  return componentOf(target).descriptor;
}

function componentOf(target: BackupTarget): ObjectStoreComponent {
  if (typeof target === 'string') return describeDirectory(checkPath(target));
  checkComponent(TARGET, target);
  return target;
}

/** A directory is not made by looking into it. */
function openTarget(target: BackupTarget, component: ObjectStoreComponent): Promise<BackupPlace['objects']> {
  if (typeof target !== 'string') return component.open();
  return Promise.resolve(new DirectoryObjectStore({ root: resolve(target), fileSystem: new NodeFileSystem() }));
}

async function claim(root: string): Promise<StoreLock> {
  try {
    refuseInside(root);
    makeParents(new NodeFileSystem(), root, []);
    return await lockStore(root);
  } catch (error) {
    if (isMillraceError(error, 'ERR_MILLRACE_LOCKED')) {
      const message = `another backup into ${root} is under way: wait until it has ended`;
      throw new MillraceError('ERR_MILLRACE_LOCKED', message, { details: { directory: root }, cause: error });
    }
    throw openFailure(root, error);
  }
}

/**
 * A target in the directory of a store: its segments could be taken for the backup's, and go when an older backup does.
 * Links are followed, for the place is what matters.
 */
function refuseInside(root: string): void {
  const fileSystem = new NodeFileSystem();
  for (let path = realPath(root); ; path = dirname(path)) {
    if (hasIdentity(fileSystem, path)) {
      throw new MillraceError(
        'ERR_MILLRACE_DIRECTORY_UNUSABLE',
        `${root} is in the directory of a store, ${path}: back up into a directory outside of every store`,
        { details: { directory: root, store: path } },
      );
    }
    if (dirname(path) === path) return;
  }
}

function checkPath(path: string): string {
  if (path === '' || path.includes('\0')) throw invalid(TARGET);
  return path;
}
