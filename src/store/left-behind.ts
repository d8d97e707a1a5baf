/** Objects that stayed in the store's directory when it was opened with another object store. */
import { resolve } from 'node:path';
import type { FileSystem } from '../base/file-system.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { DirectoryObjectStore } from '../object/directory-object-store.ts';
import type { ObjectStore } from '../object/object-store.ts';
import type { StorePaths } from './paths.ts';

/**
 * Throws `ERR_MILLRACE_OBJECT_NOT_FOUND` when a committed object lies in the directory and not in `objects`: opened so,
 * the store would write new segments there, find none of the old ones, and not open as it was before either. The
 * oldest and the newest are looked at. A directory without objects costs one listing of it, and no request.
 */
export async function refuseLeftBehind(
  fileSystem: FileSystem,
  paths: StorePaths,
  coordinator: Coordinator,
  objects: ObjectStore,
): Promise<void> {
  const directory = new DirectoryObjectStore({ root: paths.objects, fileSystem });
  const here = new Set<string>();
  for await (const { key } of directory.list()) here.add(key);
  if (here.size === 0) return;
  const committed = (await coordinator.listObjects({})).map(({ key }) => key).filter((key) => here.has(key));
  for (const key of new Set([committed.at(0), committed.at(-1)])) {
    if (key === undefined || (await objects.size(key)) !== undefined) continue;
    const place = resolve(paths.objects);
    throw new MillraceError(
      'ERR_MILLRACE_OBJECT_NOT_FOUND',
      `${key} is in ${place} and not where option objects says: copy what is below ${place} there, keeping the names, ` +
        'or open the store without that option',
      { details: { objectKey: key, directory: place } },
    );
  }
}
