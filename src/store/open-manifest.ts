/** Opens the coordinator that lives in a store's directory. */
import { systemClock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import { systemRandom } from '../base/random.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { openEmbeddedCoordinator } from '../coordinator/embedded-coordinator.ts';
import type { Settings } from './options.ts';
import type { StorePaths } from './paths.ts';

export function openManifest(
  fileSystem: FileSystem,
  settings: Settings,
  paths: StorePaths,
  storeId: Uint8Array,
): Promise<Coordinator> {
  return openEmbeddedCoordinator({
    fileSystem,
    directory: paths.manifest,
    storeId,
    clock: systemClock,
    random: systemRandom,
    readOnly: settings.readOnly,
    times: { deleteGrace: settings.compaction.deleteGrace },
  });
}
