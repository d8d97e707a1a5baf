/** What the streams of a store see of it. */
import { LoopShare } from '../base/loop-share.ts';
import type { Removals } from '../stream/removals.ts';
import type { SegmentAccess } from '../stream/segment-access.ts';
import type { StreamContext } from '../stream/stream.ts';
import { Truncations } from '../stream/truncations.ts';
import type { StoreParts } from './parts.ts';
import type { StoreWriter, UnflushedMemory } from './store-writer.ts';
import type { Trimming } from './trimming.ts';

/** What a store refuses, each by a coded error. */
export interface StoreGuards {
  /** Throws when the store answers no more. */
  check(): void;
  /** Throws in a read-only store. */
  writer(): StoreWriter;
  /** As `writer`. */
  trimming(): Trimming;
}

type Parts = Pick<StoreParts, 'coordinator' | 'writer' | 'followers' | 'compression' | 'recovered'>;

export function streamContext(
  parts: Parts,
  segments: SegmentAccess,
  removals: Removals,
  guards: StoreGuards,
): StreamContext {
  const { coordinator, writer, followers, compression } = parts;
  const assignsOffsets = writer?.assignsOffsets ?? false;
  const memory = (streamId: number): UnflushedMemory | undefined =>
    assignsOffsets ? writer?.memoryOf(streamId) : undefined;
  const truncations = truncationsIn(parts.recovered);
  return {
    coordinator,
    segments,
    removals,
    follow: (streamId, follower) => {
      followers.add(streamId, follower);
      const held = writer?.memoryOf(streamId);
      held?.memtable.follow(streamId, held.durableEnd);
      return () => {
        followers.remove(streamId, follower);
      };
    },
    loopShare: new LoopShare(),
    assignsOffsets,
    unflushed: {
      firstOffset: (streamId) => memory(streamId)?.memtable.firstOffset(streamId),
      voidFrom: (streamId, storedEpoch) => truncations.voidFrom(streamId, storedEpoch),
      truncations: (streamId, since) => truncations.since(streamId, since),
      read: (streamId, offset, maxBytes) => {
        const held = memory(streamId);
        return held?.memtable.read(streamId, offset, held.durableEnd, maxBytes);
      },
    },
    check: () => {
      guards.check();
    },
    writer: () => guards.writer().lane,
    laneFor: (streamId) => guards.writer().laneFor(streamId),
    look: (streamId) => {
      memory(streamId);
    },
    durableNextOffset: (streamId, stored) => {
      const held = memory(streamId);
      const inMemory = held?.memtable.durableNextOffset(streamId, held.durableEnd);
      return inMemory ?? Math.min(stored.nextOffset, truncations.voidFrom(streamId, stored.epoch));
    },
    truncated: (streamId, end) => {
      truncations.add(streamId, end);
      followers.wake(streamId);
    },
    deleted: (streamId) => {
      truncations.drop(streamId);
      removals.happened();
      followers.wake(streamId);
    },
    unflushedTotals: (streamId, stored) => {
      const held = memory(streamId);
      const totals = held?.memtable.totals(streamId, stored, held.durableEnd) ?? { records: 0, userBytes: 0 };
      return { ...totals, voidFrom: truncations.voidFrom(streamId, stored.epoch) };
    },
    trim: (streamId, beforeOffset) => guards.trimming().trim(streamId, beforeOffset),
    whileUntrimmed: (work) => guards.trimming().exclusively(work),
    configured: ({ streamId, config }) => {
      if (config.compression === 'lz4') compression.delete(streamId);
      else compression.set(streamId, config.compression);
    },
  };
}

function truncationsIn(recovered: Parts['recovered']): Truncations {
  const truncations = new Truncations();
  for (const [streamId, { truncated }] of recovered) {
    for (const end of truncated) truncations.add(streamId, end);
  }
  return truncations;
}
