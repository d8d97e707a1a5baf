/** A directory as an object store that has been chosen and not opened. Processes of one machine may share it. */
import { resolve } from 'node:path';
import { NodeFileSystem } from '../base/node-file-system.ts';
import { describeDirectoryStore, DirectoryObjectStore } from './directory-object-store.ts';
import type { ObjectStoreComponent } from './object-store.ts';

/** The directory is made when the store is opened, unless it is only looked at. */
export function describeDirectory(path: string, readOnly = false): ObjectStoreComponent {
  const root = resolve(path);
  return {
    descriptor: describeDirectoryStore({ root }),
    open: () => {
      const fileSystem = new NodeFileSystem();
      if (!readOnly) fileSystem.makeDirectorySync(root);
      return Promise.resolve(new DirectoryObjectStore({ root, fileSystem }));
    },
  };
}
