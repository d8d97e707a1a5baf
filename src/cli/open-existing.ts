/** Opens a store for writing where there is one. `open` alone would make one of a directory that was mistyped. */
import { resolve } from 'node:path';
import { NodeFileSystem } from '../base/node-file-system.ts';
import { loadChecksum } from '../codec/checksum.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { refuseRestoring } from '../store/birth.ts';
import { hasLog, readIdentity } from '../store/identity.ts';
import { open } from './engine.ts';
import type { OpenOptions } from '../store/options.ts';
import type { Store } from '../store/store.ts';
import type { Stream } from '../stream/stream.ts';

/** Throws `ERR_MILLRACE_STORE_NOT_FOUND` instead of making a store. One without a WAL is opened without it. */
export async function openExisting(options: OpenOptions & { readonly dir: string }): Promise<Store> {
  await loadChecksum();
  const { dir } = options;
  const fileSystem = new NodeFileSystem();
  const root = resolve(dir);
  if (readIdentity(fileSystem, root) !== undefined) {
    return open(hasLog(fileSystem, root) ? options : { ...options, wal: false });
  }
  refuseRestoring(fileSystem, root);
  throw new MillraceError('ERR_MILLRACE_STORE_NOT_FOUND', `${dir} holds no store: check the path`, {
    details: { directory: dir },
  });
}

/** The stream of that name. Throws `ERR_MILLRACE_STREAM_NOT_FOUND` instead of making one. */
export async function existingStream(store: Store, name: string): Promise<Stream> {
  if ((await store.streams()).some((stream) => stream.name === name)) return store.stream(name);
  throw new MillraceError(
    'ERR_MILLRACE_STREAM_NOT_FOUND',
    `there is no stream ${JSON.stringify(name)}: "millrace ls" lists those there are`,
    { details: { stream: name } },
  );
}
