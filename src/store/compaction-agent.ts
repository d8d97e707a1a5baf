/** The compaction agent of a store that is open for writing. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import { CompactionAgent } from '../compaction/agent.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import type { Settings } from './options.ts';
import type { WorkerPool } from './pool.ts';

export interface CompactionParts {
  readonly settings: Settings;
  readonly storeId: Uint8Array;
  readonly coordinator: Coordinator;
  readonly pool: WorkerPool;
  readonly objects: ObjectStoreDescriptor;
}

export function makeCompactionAgent(parts: CompactionParts): CompactionAgent {
  const { settings, storeId, coordinator, pool, objects } = parts;
  return new CompactionAgent({
    coordinator,
    runner: pool,
    objects,
    storeId,
    clock: systemClock,
    sleep: pause,
    settings: settings.compaction,
    worker: `${hostname()}:${process.pid}`,
  });
}

/** Ends early when aborted. A wait that can be aborted is the background's, and keeps no process alive. */
async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  const options = signal === undefined ? {} : { ref: false, signal };
  await sleep(milliseconds, undefined, options).catch(() => undefined);
}
