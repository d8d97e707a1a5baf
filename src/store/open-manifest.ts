/** Opens the coordinator that lives in a store's directory. */
import { systemClock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import { systemRandom } from '../base/random.ts';
import { openEmbeddedCoordinator } from '../coordinator/embedded-coordinator.ts';
import { type TimedCoordinator, timedCoordinator } from '../coordinator/timed-coordinator.ts';
import type { Settings } from './options.ts';
import type { StorePaths } from './paths.ts';

export async function openManifest(
  fileSystem: FileSystem,
  settings: Settings,
  paths: StorePaths,
  storeId: Uint8Array,
): Promise<TimedCoordinator> {
  const coordinator = await openEmbeddedCoordinator({
    fileSystem,
    directory: paths.manifest,
    storeId,
    clock: systemClock,
    random: systemRandom,
    readOnly: settings.readOnly,
    times: { deleteGrace: settings.compaction.deleteGrace },
  });
  return timedCoordinator(coordinator, systemClock);
}
