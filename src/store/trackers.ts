/** The trackers of all open streams: made with a stream, asked for snapshots by the flush, written out at the end. */
import type { Clock } from '../base/clock.ts';
import type { Timers } from '../base/timers.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { unlessGone } from '../coordinator/unless-gone.ts';
import type { TrackingSnapshot } from '../flush/flush-job.ts';
import type { TrackingEntry } from '../record/tracking-format.ts';
import type { PublisherMark } from '../record/tracking-state.ts';
import type { WritableStreamState } from '../stream/frame-appender.ts';
import type { TrackingSource } from '../stream/lane.ts';
import type { SegmentAccess } from '../stream/segment-access.ts';
import { holdsBelow, loadTracking } from '../stream/tracking-loader.ts';
import type { TrackingSettings } from '../stream/tracking-policy.ts';
import { StreamTracker, type TrackerHost, type TrackerStats } from '../stream/tracker.ts';

interface OpenTracker {
  readonly name: string;
  readonly stream: WritableStreamState;
  readonly tracker: StreamTracker;
}

/** The lanes that streams are in. */
export interface TrackingLanes {
  /** Whether the store's own lane has nothing to flush. */
  ownIsEmpty(): boolean;
  /** Whether another lane than the store's own has the stream. */
  holds(streamId: number): boolean;
  /** Writes tracking frames into the stream's lane; resolves when they are durable. */
  track(stream: WritableStreamState, source: TrackingSource): Promise<void>;
}

/** What trackers tell the time by, and wait with. */
export interface TimeSource {
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Of all open streams together. */
export interface TrackingStats {
  /** Sums over the streams. */
  readonly references: number;
  readonly publishers: number;
  readonly deltas: number;
  readonly snapshots: number;
  readonly bytes: number;
  /** The largest of any stream: milliseconds that a delta gathers, and tracking as a share of recent bytes. */
  readonly interval: number;
  readonly share: number;
  /** By name, those with any tracking. */
  readonly streams: Readonly<Record<string, TrackerStats>>;
}

export class Trackers {
  readonly #coordinator: Coordinator;
  readonly #lanes: TrackingLanes;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #settings: TrackingSettings;
  readonly #open = new Map<number, OpenTracker>();

  constructor(
    coordinator: Coordinator,
    lanes: TrackingLanes,
    { clock, timers }: TimeSource,
    settings: TrackingSettings,
  ) {
    this.#coordinator = coordinator;
    this.#lanes = lanes;
    this.#clock = clock;
    this.#timers = timers;
    this.#settings = settings;
  }

  /** `recovered`: what the WAL held of the stream when the store was opened. */
  async open(
    name: string,
    stream: WritableStreamState,
    segments: SegmentAccess,
    recovered: readonly TrackingEntry[],
  ): Promise<StreamTracker> {
    const { state, debt, held } = await loadTracking(this.#coordinator, segments, stream.streamId, recovered);
    const host: TrackerHost = {
      clock: this.#clock,
      settings: this.#settings,
      write: (source) => this.#lanes.track(stream, source),
      later: (milliseconds, callback) => this.#timers.after(milliseconds, callback),
    };
    const tracker = new StreamTracker(state, stream, host, debt);
    this.#open.set(stream.streamId, { name, stream, tracker });
    if (held) this.#wantSnapshot(tracker);
    return tracker;
  }

  /** Snapshots that are worth writing, as of now. */
  takeSnapshots(): Map<number, TrackingSnapshot> {
    const snapshots = new Map<number, TrackingSnapshot>();
    for (const [streamId, { stream, tracker }] of this.#open) {
      // A filling of one lane cannot say where streams of another one are.
      if (this.#lanes.holds(streamId)) continue;
      const entries = tracker.takeSnapshot();
      if (entries === undefined) continue;
      snapshots.set(streamId, { entries, nextOffset: stream.nextOffset, epoch: stream.epoch });
    }
    return snapshots;
  }

  /** The log of the stream starts at `firstOffset` now. */
  async trimmed(streamId: number, firstOffset: number): Promise<void> {
    if (!this.#open.has(streamId)) return;
    const runs = await unlessGone(this.#coordinator.findTrackingRuns(streamId), []);
    const held = holdsBelow(runs, firstOffset);
    const open = this.#open.get(streamId);
    open?.tracker.trimmed(firstOffset);
    if (open !== undefined && held) this.#wantSnapshot(open.tracker);
  }

  /** Also of a stream that nobody writes to any more: else what retention lets go would stay on disk for ever. */
  #wantSnapshot(tracker: StreamTracker): void {
    tracker.wantSnapshot();
    if (this.#lanes.ownIsEmpty()) tracker.touch();
  }

  /** A publisher's record is durable in the lane of another thread. */
  published(streamId: number, reference: string, publishingId: number, offset: number): void {
    this.#open.get(streamId)?.tracker.published(reference, publishingId, offset);
  }

  /** The latest record of a publisher. */
  publisher(streamId: number, reference: string): PublisherMark | undefined {
    return this.#open.get(streamId)?.tracker.publisher(reference);
  }

  /** Writes everything that has gathered; resolves when it is durable. */
  async flush(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ tracker }) => tracker.flush()));
  }

  close(streamId: number): void {
    this.#open.get(streamId)?.tracker.discard();
    this.#open.delete(streamId);
  }

  discard(): void {
    for (const { tracker } of this.#open.values()) tracker.discard();
  }

  stats(): TrackingStats {
    const total = { references: 0, publishers: 0, deltas: 0, snapshots: 0, bytes: 0, interval: 0, share: 0 };
    const streams: [string, TrackerStats][] = [];
    for (const { name, tracker } of this.#open.values()) {
      const stats = tracker.stats();
      if (stats.references + stats.publishers + stats.bytes === 0) continue;
      streams.push([name, stats]);
      total.references += stats.references;
      total.publishers += stats.publishers;
      total.deltas += stats.deltas;
      total.snapshots += stats.snapshots;
      total.bytes += stats.bytes;
      total.interval = Math.max(total.interval, stats.interval);
      total.share = Math.max(total.share, stats.share);
    }
    return { ...total, streams: Object.fromEntries(streams) };
  }
}
