/** Opens the object store that the settings choose, for this thread and as a descriptor for the pool. */
import { assert } from '../base/assert.ts';
import { type CacheCounters, CachingObjectStore } from '../object/caching-object-store.ts';
import { describeDirectoryStore, DirectoryObjectStore } from '../object/directory-object-store.ts';
import { MeteredObjectStore } from '../object/metered-object-store.ts';
import type { ObjectStore, ObjectStoreDescriptor } from '../object/object-store.ts';
import type { StoreEnvironment } from './environment.ts';
import type { Settings } from './options.ts';
import type { StorePaths } from './paths.ts';

export interface OpenedObjects {
  readonly objects: ObjectStore;
  /** Of a remote store. */
  readonly cache: Readonly<CacheCounters> | undefined;
  readonly descriptor: ObjectStoreDescriptor;
}

/** A directory is cached by the system; a remote store behind blocks of our own, up to `cacheBytes`. */
export async function openObjects(
  { fileSystem, random, clock }: StoreEnvironment,
  settings: Settings,
  paths: StorePaths | undefined,
): Promise<OpenedObjects> {
  const { objects: component } = settings;
  if (component !== undefined) {
    const remote = new MeteredObjectStore(await component.open());
    const objects = new CachingObjectStore(remote, { maxBytes: settings.cacheBytes });
    return { objects, cache: objects.counters, descriptor: component.descriptor };
  }
  assert(paths !== undefined, 'a store without a directory says where its objects are');
  const directory = new DirectoryObjectStore({ root: paths.objects, fileSystem, random, clock });
  // What a crash left of objects in the making; only a lone writer may judge that.
  if (!settings.readOnly && settings.coordinator === undefined) await directory.removeUnfinished(Infinity);
  const descriptor = describeDirectoryStore({ root: paths.objects });
  return { objects: new MeteredObjectStore(directory), cache: undefined, descriptor };
}
