/** Builds an object store from its descriptor, in whatever thread needs one. */
import type { ObjectStore, ObjectStoreDescriptor } from './object-store.ts';

interface ObjectStoreModule {
  openObjectStore(options: Readonly<Record<string, unknown>>): ObjectStore | Promise<ObjectStore>;
}

/** Imports the descriptor's module and opens the store. */
export async function openDescriptor(descriptor: ObjectStoreDescriptor): Promise<ObjectStore> {
  const module = (await import(descriptor.module)) as ObjectStoreModule;
  return module.openObjectStore(descriptor.options);
}
