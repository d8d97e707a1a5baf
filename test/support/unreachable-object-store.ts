/** An object store that no request reaches, in this thread and in those of the pool. */
import { MillraceError } from '../../src/errors/millrace-error.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import type { ObjectStore, ObjectStoreComponent, ObjectWriter } from '../../src/object/object-store.ts';

class UnreachableObjectStore extends MemoryObjectStore {
  override create(): Promise<ObjectWriter> {
    return Promise.reject(new MillraceError('ERR_MILLRACE_UNAVAILABLE', 'nobody answers'));
  }
}

/** What a descriptor of this module describes. */
export async function openObjectStore(): Promise<ObjectStore> {
  return new UnreachableObjectStore();
}

export const unreachable: ObjectStoreComponent = {
  descriptor: { module: import.meta.url, options: {} },
  open: openObjectStore,
};
