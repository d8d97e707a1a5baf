/** What `store.stats()` tells: plain data, safe to print or send. */
import type { CompactionCounters } from '../compaction/counters.ts';
import type { CoordinatorStats } from '../coordinator/coordinator.ts';
import type { CoordinatorTimings } from '../coordinator/timed-coordinator.ts';
import type { FlushCounters } from '../flush/scheduler.ts';
import type { LatencyCounts } from '../metrics/latency-histogram.ts';
import type { CacheCounters } from '../object/caching-object-store.ts';
import { NO_REQUESTS, partTally, type RequestTally } from '../object/request-tally.ts';
import type { RecoveryReport } from '../wal/recovery.ts';
import type { JanitorCounters } from './janitor.ts';
import type { OrphanReport } from './orphans.ts';
import type { StoreParts } from './parts.ts';
import type { ProducerStats } from './producers/producers.ts';
import type { TrackingStats } from './trackers.ts';

/** Counters and gauges of a store, since it was opened unless said otherwise. */
export interface StoreStats {
  /** The coordinator's counts of streams, runs and objects. */
  readonly objects: CoordinatorStats;
  /** The ring; `undefined` in a read-only store. */
  readonly ring:
    | {
        /** Slots of the ring. */
        readonly slots: number;
        /** Bytes of a slot. */
        readonly slotBytes: number;
        /** Slots that hold records which are in no segment yet. */
        readonly slotsInUse: number;
        /** Bytes of appends that wait for room. */
        readonly queuedBytes: number;
        /** Streams with records in the ring. */
        readonly streams: number;
      }
    | undefined;
  /** What the store's own thread appended since it was opened; `undefined` in a read-only store. */
  readonly appends:
    | {
        /** User records. */
        readonly records: number;
        /** Bytes of keys and values. */
        readonly userBytes: number;
        /** From the call of an append until it was durable, a call of `appendMany` counted once. */
        readonly latency: LatencyCounts;
      }
    | undefined;
  /** The log; `undefined` without one, and in a read-only store. */
  readonly wal:
    | {
        /** O_DIRECT and O_DSYNC, or buffered writes followed by a sync. */
        readonly mode: 'starting' | 'direct' | 'buffered';
        /** Blocks closed since the store was made. */
        readonly blocks: number;
        /** Why appends are refused; `undefined` while they are not. */
        readonly failure: string | undefined;
      }
    | undefined;
  /** Lanes that other threads have. */
  readonly producers: readonly ProducerStats[];
  /** Segments made of the log; `undefined` in a read-only store. */
  readonly flush: Readonly<FlushCounters> | undefined;
  /** Consumer offsets and publishers. */
  readonly tracking: TrackingStats | undefined;
  /** Compaction in this process; `undefined` in a read-only store. */
  readonly compaction: Readonly<CompactionCounters> | undefined;
  /**
   * Requests that this process has sent to the object store, by what they were for: `read`, `housekeeping`, `flush`,
   * and the kinds of compaction jobs. Those of a job are counted when it ends.
   */
  readonly requests: Readonly<Record<string, RequestTally>>;
  /** Blocks of a remote object store in memory. */
  readonly cache: Readonly<CacheCounters> | undefined;
  /** Calls of the coordinator by operation: how long they took, and errors by code. */
  readonly coordinator: CoordinatorTimings;
  /** Deletion of what nobody needs any more, and retention; `undefined` in a read-only store. */
  readonly housekeeping: Readonly<JanitorCounters> | undefined;
  /** What the last search for objects unknown to the coordinator found; `undefined` before `removeOrphans`. */
  readonly orphans: Pick<OrphanReport, 'orphans' | 'orphanBytes' | 'deleted'> | undefined;
  /** What opening found in the WAL. */
  readonly recovery: RecoveryReport | undefined;
}

/** What the parts of a store do not know themselves. */
export interface StatsSources {
  /** The coordinator's counts. */
  readonly objects: CoordinatorStats;
  readonly housekeeping: Readonly<JanitorCounters> | undefined;
  readonly orphans: OrphanReport | undefined;
}

export function statsOf(parts: StoreParts, { objects, housekeeping, orphans }: StatsSources): StoreStats {
  const { writer, recovery, usage } = parts;
  const lane = writer?.lane;
  return {
    objects,
    ring: lane && {
      ...lane.producer.geometry,
      slotsInUse: lane.producer.slotsInUse,
      queuedBytes: lane.queuedBytes,
      streams: lane.memtable.streamCount,
    },
    appends: lane && { ...lane.written, latency: lane.latency.snapshot() },
    wal:
      writer?.mode === 'none'
        ? undefined
        : writer && {
            mode: writer.mode,
            blocks: writer.lane.producer.blockSequence,
            failure: writer.lane.failure?.code,
          },
    producers: writer?.producers?.stats() ?? [],
    flush: writer && { ...writer.flush.counters },
    tracking: writer?.trackers.stats(),
    compaction: parts.compaction && { ...parts.compaction.counters },
    requests: requestsOf(parts),
    cache: usage.cache && { ...usage.cache },
    coordinator: usage.timings.snapshot(),
    housekeeping: housekeeping && { ...housekeeping },
    orphans: orphans && { orphans: orphans.orphans, orphanBytes: orphans.orphanBytes, deleted: orphans.deleted },
    recovery,
  };
}

function requestsOf({ objects, usage }: StoreParts): Record<string, RequestTally> {
  const ours = partTally(objects.tally?.() ?? NO_REQUESTS);
  const pool = Object.entries(usage.pool).map(([purpose, counts]): [string, RequestTally] => [purpose, counts.tally()]);
  return { ...ours, ...Object.fromEntries(pool) };
}
