/** The trackers of all open streams: made with a stream, asked for snapshots by the flush, written out at the end. */
import type { Clock } from '../base/clock.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { FRAME_KIND } from '../record/frame-format.ts';
import type { TrackingEntry } from '../record/tracking-format.ts';
import type { WritableStreamState } from '../stream/frame-appender.ts';
import type { Lane } from '../stream/lane.ts';
import type { SegmentAccess } from '../stream/segment-access.ts';
import { loadTracking } from '../stream/tracking-loader.ts';
import type { TrackingSettings } from '../stream/tracking-policy.ts';
import { StreamTracker, type TrackerStats } from '../stream/tracker.ts';

export class Trackers {
  readonly #coordinator: Coordinator;
  readonly #lane: () => Lane;
  readonly #clock: Clock;
  readonly #settings: TrackingSettings;
  readonly #trackers = new Map<number, StreamTracker>();

  constructor(coordinator: Coordinator, lane: () => Lane, clock: Clock, settings: TrackingSettings) {
    this.#coordinator = coordinator;
    this.#lane = lane;
    this.#clock = clock;
    this.#settings = settings;
  }

  /** `recovered`: what the WAL held of the stream when the store was opened. */
  async open(
    stream: WritableStreamState,
    segments: SegmentAccess,
    recovered: readonly TrackingEntry[],
  ): Promise<StreamTracker> {
    const state = await loadTracking(this.#coordinator, segments, stream.streamId, recovered);
    const tracker = new StreamTracker(state, stream, {
      clock: this.#clock,
      settings: this.#settings,
      write: (content) => this.#lane().appendControl(stream, FRAME_KIND.tracking, content),
      later: (milliseconds, callback) => {
        const timer = setTimeout(callback, milliseconds);
        timer.unref();
        return () => {
          clearTimeout(timer);
        };
      },
    });
    this.#trackers.set(stream.streamId, tracker);
    return tracker;
  }

  /** Snapshots that are worth writing, as of now. */
  takeSnapshots(): Map<number, Uint8Array> {
    const snapshots = new Map<number, Uint8Array>();
    for (const [streamId, tracker] of this.#trackers) {
      const snapshot = tracker.takeSnapshot();
      if (snapshot !== undefined) snapshots.set(streamId, snapshot);
    }
    return snapshots;
  }

  /** Writes everything that has gathered; resolves when it is durable. */
  async flush(): Promise<void> {
    await Promise.all([...this.#trackers.values()].map((tracker) => tracker.flush()));
  }

  close(streamId: number): void {
    this.#trackers.get(streamId)?.discard();
    this.#trackers.delete(streamId);
  }

  discard(): void {
    for (const tracker of this.#trackers.values()) tracker.discard();
  }

  stats(): Map<number, TrackerStats> {
    return new Map([...this.#trackers].map(([streamId, tracker]) => [streamId, tracker.stats()]));
  }
}
