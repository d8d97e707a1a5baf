/** Opens the coordinator that lives in a store's directory. */
import { type EmbeddedCoordinator, openEmbeddedCoordinator } from '../coordinator/embedded-coordinator.ts';
import { type TimedCoordinator, timedCoordinator } from '../coordinator/timed-coordinator.ts';
import type { StoreEnvironment } from './environment.ts';
import type { Settings } from './options.ts';
import type { StorePaths } from './paths.ts';

export async function openManifest(
  { fileSystem, clock, random }: StoreEnvironment,
  settings: Settings,
  paths: StorePaths,
  storeId: Uint8Array,
): Promise<TimedCoordinator<EmbeddedCoordinator>> {
  const coordinator = await openEmbeddedCoordinator({
    fileSystem,
    directory: paths.manifest,
    storeId,
    clock,
    random,
    readOnly: settings.readOnly,
    times: { deleteGrace: settings.compaction.deleteGrace },
  });
  return timedCoordinator(coordinator, clock);
}
