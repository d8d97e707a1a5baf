/**
 * Which runs hold tracking that is still needed. Snapshots only ever supersede: what is not needed now never will be.
 */
import type { Coordinator, FoundRun, RunReference } from '../coordinator/coordinator.ts';
import { unlessGone } from '../coordinator/unless-gone.ts';

/** The stream's needed runs in order; none when it was deleted meanwhile. */
export function neededTracking(coordinator: Coordinator, streamId: number): Promise<readonly FoundRun[]> {
  return unlessGone(coordinator.findTrackingRuns(streamId), []);
}

/** Names a run of the whole store. */
export function runName({ objectKey, byteOffset }: RunReference): string {
  return `${objectKey}:${byteOffset}`;
}
