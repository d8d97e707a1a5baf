/** What a store needs of its writing side, whether a WAL or the object store makes appends durable. */
import type { FlushScheduler } from '../flush/scheduler.ts';
import type { Memtable } from '../memtable/memtable.ts';
import type { TrackingEntry } from '../record/tracking-format.ts';
import type { WritableStreamState } from '../stream/frame-appender.ts';
import type { Lane } from '../stream/lane.ts';
import type { SegmentAccess } from '../stream/segment-access.ts';
import type { StreamReferences } from '../stream/stream-references.ts';
import type { Producers } from './producers/producers.ts';
import type { TrackingStats } from './trackers.ts';

/** The consumers and publishers of all open streams. */
export interface StoreTrackers {
  /** `recovered`: what the WAL held of the stream when the store was opened. */
  open(
    name: string,
    stream: WritableStreamState,
    segments: SegmentAccess,
    recovered: readonly TrackingEntry[],
  ): Promise<StreamReferences>;
  /** The log of the stream starts at `firstOffset` now. */
  trimmed(streamId: number, firstOffset: number): Promise<void>;
  close(streamId: number): void;
  stats(): TrackingStats;
}

/** Frames that are in no segment, and how far they are durable. */
export interface UnflushedMemory {
  readonly memtable: Memtable;
  readonly durableEnd: number;
}

export interface StoreWriter {
  readonly lane: Lane;
  readonly flush: FlushScheduler;
  readonly trackers: StoreTrackers;
  /** The lane that takes a stream's appends; throws `ERR_MILLRACE_STREAM_HELD` when that is another thread's. */
  laneFor(streamId: number): Lane;
  /** Where records of the stream are that are in no segment yet. */
  memoryOf(streamId: number): UnflushedMemory;
  /** Lanes of other threads; `undefined` without a WAL. */
  readonly producers: Producers | undefined;
  /**
   * Appends get their offsets here and are read from memory once they are durable. Otherwise the coordinator assigns
   * them at the commit, and records are read from objects alone.
   */
  readonly assignsOffsets: boolean;
  /** How the WAL is written; `starting` until its worker has probed its files, `none` without a WAL. */
  readonly mode: 'starting' | 'direct' | 'buffered' | 'none';
  /** Called when a filling is committed. The store sets it. */
  onCommitted: () => void;
  /** Moves everything appended so far into segments. */
  flushAll(): Promise<void>;
  /** Flushes, then stops. */
  close(): Promise<void>;
}
