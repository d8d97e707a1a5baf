/** A store that is opened with another place for its objects than they are in. */
import { resolve } from 'node:path';
import type { FileSystem } from '../base/file-system.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { DirectoryObjectStore } from '../object/directory-object-store.ts';
import type { ObjectStore } from '../object/object-store.ts';
import type { Settings } from './options.ts';
import type { StorePaths } from './paths.ts';

/**
 * Throws `ERR_MILLRACE_OBJECT_NOT_FOUND` when the place that was chosen cannot be the one that the store was written
 * with: opened so, the store would write new segments there, find none of the old ones, and not open as it was before
 * either. Costs a request or two.
 */
export async function refuseMisplaced(
  fileSystem: FileSystem,
  paths: StorePaths,
  settings: Settings,
  coordinator: Coordinator,
  objects: ObjectStore,
): Promise<void> {
  const committed = (await coordinator.listObjects({ state: 'committed' })).map(({ key }) => key);
  if (settings.objects !== undefined) await refuseLeftBehind(fileSystem, paths, committed, objects);
  if (!settings.salvage) await refuseElsewhere(committed, objects, settings);
}

/** A committed object lies in the directory, and not where it should. The oldest and the newest are looked at. */
async function refuseLeftBehind(
  fileSystem: FileSystem,
  paths: StorePaths,
  committed: readonly string[],
  objects: ObjectStore,
): Promise<void> {
  const directory = new DirectoryObjectStore({ root: paths.objects, fileSystem });
  const here = new Set<string>();
  for await (const { key } of directory.list()) here.add(key);
  if (here.size === 0) return;
  const known = committed.filter((key) => here.has(key));
  for (const key of new Set([known.at(0), known.at(-1)])) {
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

/** Not one of the committed objects is there: the place is another, or empty. */
async function refuseElsewhere(committed: readonly string[], objects: ObjectStore, settings: Settings): Promise<void> {
  const newest = committed.at(-1);
  if (newest === undefined || (await objects.size(newest)) !== undefined) return;
  const known = new Set(committed);
  for await (const { key } of objects.list()) if (known.has(key)) return;
  const place = settings.objects === undefined ? "the store's directory" : 'the place that option objects names';
  throw new MillraceError(
    'ERR_MILLRACE_OBJECT_NOT_FOUND',
    `${place} holds none of the ${committed.length} objects of the store, such as ${newest}: name with option objects ` +
      'the place that it was written with, restore a backup, or open with `salvage: true` to go on without them',
    { details: { objectKey: newest, objects: committed.length } },
  );
}
