/** Opens the object store that the settings choose, for this thread and as a descriptor for the pool. */
import { assert } from '../base/assert.ts';
import type { FileSystem } from '../base/file-system.ts';
import { CachingObjectStore } from '../object/caching-object-store.ts';
import { describeDirectoryStore, DirectoryObjectStore } from '../object/directory-object-store.ts';
import type { ObjectStore, ObjectStoreDescriptor } from '../object/object-store.ts';
import type { Settings } from './options.ts';
import type { StorePaths } from './paths.ts';

export interface OpenedObjects {
  readonly objects: ObjectStore;
  readonly descriptor: ObjectStoreDescriptor;
}

/** A directory is cached by the system; a remote store behind blocks of our own, up to `cacheBytes`. */
export async function openObjects(
  fileSystem: FileSystem,
  settings: Settings,
  paths: StorePaths | undefined,
): Promise<OpenedObjects> {
  const { objects: component } = settings;
  if (component !== undefined) {
    const remote = await component.open();
    return {
      objects: new CachingObjectStore(remote, { maxBytes: settings.cacheBytes }),
      descriptor: component.descriptor,
    };
  }
  assert(paths !== undefined, 'a store without a directory says where its objects are');
  const directory = new DirectoryObjectStore({ root: paths.objects, fileSystem });
  // What a crash left of objects in the making; only a lone writer may judge that.
  if (!settings.readOnly && settings.coordinator === undefined) await directory.removeUnfinished(Infinity);
  return { objects: directory, descriptor: describeDirectoryStore({ root: paths.objects }) };
}
