/** What `open` has put together and a store works with. */
import type { BackupSource } from '../backup/backup.ts';
import type { Announcer } from '../base/channels.ts';
import type { Clock } from '../base/clock.ts';
import type { Timers } from '../base/timers.ts';
import type { CompactionAgent } from '../compaction/agent.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { CallTimer } from '../coordinator/timed-coordinator.ts';
import type { CacheCounters } from '../object/caching-object-store.ts';
import type { ObjectStore } from '../object/object-store.ts';
import type { RequestCounts } from '../object/request-tally.ts';
import type { Compression } from '../record/stream-config.ts';
import type { RecoveryReport } from '../wal/recovery.ts';
import type { Followers } from '../stream/followers.ts';
import type { StoreLock } from './lock.ts';
import type { Settings } from './options.ts';
import type { RecoveredStream } from './recovered-streams.ts';
import type { StoreWriter } from './store-writer.ts';

/** Counts that only `stats()` looks at. */
export interface StoreUsage {
  readonly timings: CallTimer;
  readonly cache: Readonly<CacheCounters> | undefined;
  /** Requests of pool workers, by what they were for. */
  readonly pool: Readonly<Record<string, RequestCounts>>;
}

export interface StoreParts {
  readonly settings: Settings;
  readonly storeId: Uint8Array;
  readonly announcer: Announcer;
  readonly coordinator: Coordinator;
  readonly objects: ObjectStore;
  readonly usage: StoreUsage;
  /** What a backup is taken of; absent where a service keeps the metadata. */
  readonly backupSource: BackupSource | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly followers: Followers;
  /** Absent in a read-only store. */
  readonly writer: StoreWriter | undefined;
  /** Other processes write to the store too: what they do comes unannounced. */
  readonly shared: boolean;
  readonly lock: StoreLock | undefined;
  readonly closePool: () => Promise<void>;
  /** Absent in a read-only store. */
  readonly compaction: CompactionAgent | undefined;
  /** What recovery found; `undefined` in a read-only store. */
  readonly recovery: RecoveryReport | undefined;
  /** Streams with frames in the WAL at open. */
  readonly recovered: ReadonlyMap<number, RecoveredStream>;
  /** Streams whose codec is not the default: the flush reads it. */
  readonly compression: Map<number, Compression>;
}
