/**
 * Which runs hold tracking that is still needed. Snapshots only ever supersede: what is not needed now never will be.
 */
import type { Coordinator, FoundRun, RunReference } from '../coordinator/coordinator.ts';
import { isMillraceError } from '../errors/millrace-error.ts';

/** The stream's needed runs in order; none when it was deleted meanwhile. */
export async function neededTracking(coordinator: Coordinator, streamId: number): Promise<readonly FoundRun[]> {
  try {
    return await coordinator.findTrackingRuns(streamId);
  } catch (error) {
    if (isMillraceError(error, 'ERR_MILLRACE_STREAM_NOT_FOUND')) return [];
    throw error;
  }
}

/** Names a run of the whole store. */
export function runName({ objectKey, byteOffset }: RunReference): string {
  return `${objectKey}:${byteOffset}`;
}
