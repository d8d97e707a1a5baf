/**
 * `millrace/objects`: for those who bring an object store of their own. The interface to implement, a store in memory
 * to compare with, and the decorators that millrace puts around stores.
 */
export type {
  ObjectEntry,
  ObjectStore,
  ObjectStoreComponent,
  ObjectStoreDescriptor,
  ObjectWriter,
} from './object/object-store.ts';
export { CachingObjectStore } from './object/caching-object-store.ts';
export { MemoryObjectStore } from './object/memory-object-store.ts';
export { MeteredObjectStore } from './object/metered-object-store.ts';
export { RetryingObjectStore } from './object/retrying-object-store.ts';
