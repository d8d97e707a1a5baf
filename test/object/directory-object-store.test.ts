import { join } from 'node:path';
import { DirectoryObjectStore } from '../../src/object/directory-object-store.ts';
import { objectStoreContract } from '../../src/testing/object-store-contract.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

for (const [name, options] of Object.entries({
  'a directory': {},
  'a directory, buffered': { direct: false },
  'a directory with one open file': { maxOpenFiles: 1 },
})) {
  objectStoreContract(name, async () => {
    const directory = temporaryDirectory();
    const store = new DirectoryObjectStore({ root: join(directory.path, 'objects'), ...options });
    const dispose = async (): Promise<void> => {
      await store.close();
      directory.remove();
    };
    return { store, dispose };
  });
}
