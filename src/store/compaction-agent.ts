/** The compaction agent of a store that is open for writing. */
import { hostname } from 'node:os';
import type { Announcer } from '../base/channels.ts';
import { CompactionAgent } from '../compaction/agent.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import type { Settings } from './options.ts';
import type { JobPool, StoreEnvironment } from './environment.ts';

export interface CompactionParts {
  readonly environment: StoreEnvironment;
  readonly settings: Settings;
  readonly storeId: Uint8Array;
  readonly announcer: Announcer;
  readonly coordinator: Coordinator;
  readonly pool: JobPool;
  readonly objects: ObjectStoreDescriptor;
}

export function makeCompactionAgent(parts: CompactionParts): CompactionAgent {
  const { environment, settings, storeId, announcer, coordinator, pool, objects } = parts;
  return new CompactionAgent({
    coordinator,
    runner: pool,
    objects,
    storeId,
    announcer,
    clock: environment.clock,
    sleep: (milliseconds, signal) => environment.timers.sleep(milliseconds, signal),
    settings: settings.compaction,
    worker: `${hostname()}:${process.pid}`,
  });
}
