/** Builds an object store from its descriptor, in whatever thread needs one. */
import type { ObjectStore, ObjectStoreDescriptor } from './object-store.ts';
import { DIRECTORY_MODULE, S3_MODULE } from './own-modules.ts';

interface ObjectStoreModule {
  openObjectStore(options: Readonly<Record<string, unknown>>): ObjectStore | Promise<ObjectStore>;
}

/** Imports the descriptor's module and opens the store. */
export async function openDescriptor({ module, options }: ObjectStoreDescriptor): Promise<ObjectStore> {
  const loaded = await moduleOf(module);
  return loaded.openObjectStore(options);
}

function moduleOf(name: string): Promise<ObjectStoreModule> {
  if (name === DIRECTORY_MODULE) return import('./directory-object-store.ts');
  // Loads the optional peer, which not everybody has.
  if (name === S3_MODULE) return import('./s3/s3-object-store.ts');
  return import(name) as Promise<ObjectStoreModule>;
}
