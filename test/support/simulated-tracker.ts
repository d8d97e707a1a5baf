/** A tracker on a clock that moves by hand, with a log that takes everything at once, or nothing while it is full. */
import { ManualClock } from '../../src/base/clock.ts';
import { decodeTracking, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { trackingFrameBytes } from '../../src/record/tracking-frames.ts';
import { TrackingState } from '../../src/record/tracking-state.ts';
import type { WritableStreamState } from '../../src/stream/frame-appender.ts';
import type { TrackingSource } from '../../src/stream/lane.ts';
import { StreamTracker } from '../../src/stream/tracker.ts';
import { TRACKING_SETTINGS_DEFAULT, type TrackingSettings } from '../../src/stream/tracking-policy.ts';
import { newStream } from './stream-state.ts';

/** A tracking frame in the log. */
export interface LoggedTracking {
  readonly at: number;
  readonly bytes: number;
  readonly entries: readonly TrackingEntry[];
}

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

const LENGTH_BYTES = 4;

export class SimulatedTracker {
  readonly clock: ManualClock = new ManualClock(1_000_000);
  readonly stream: WritableStreamState = newStream(1);
  readonly tracker: StreamTracker;
  readonly log: LoggedTracking[] = [];
  /** While true, nothing finds room in the log. */
  full = false;
  readonly #timers = new Set<Timer>();
  readonly #waiting: { readonly source: TrackingSource; readonly resolve: () => void }[] = [];

  constructor(settings: Partial<TrackingSettings> = {}, state: TrackingState = new TrackingState()) {
    this.stream.nextOffset = 1_000_000;
    this.tracker = new StreamTracker(
      state,
      this.stream,
      {
        clock: this.clock,
        settings: { ...TRACKING_SETTINGS_DEFAULT, ...settings },
        write: (source) => this.#write(source),
        later: (milliseconds, callback) => {
          const timer = { at: this.clock.monotonic() + milliseconds, callback };
          this.#timers.add(timer);
          return () => this.#timers.delete(timer);
        },
      },
      { bytes: 0, runs: 0 },
    );
  }

  /** Lets time pass, and timers fire at their moments. */
  advance(milliseconds: number): void {
    const end = this.clock.monotonic() + milliseconds;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((left, right) => left.at - right.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.clock.advance(Math.max(0, due.at - this.clock.monotonic()));
      due.callback();
    }
    this.clock.advance(end - this.clock.monotonic());
  }

  /** There is room again. */
  drain(): void {
    this.full = false;
    for (const { source, resolve } of this.#waiting.splice(0)) {
      this.#place(source);
      resolve();
    }
  }

  #write(source: TrackingSource): Promise<void> {
    if (!this.full) {
      this.#place(source);
      return Promise.resolve();
    }
    // The lane asks, and finds no room for what it is given.
    source.next();
    return new Promise((resolve) => {
      this.#waiting.push({ source, resolve });
    });
  }

  #place(source: TrackingSource): void {
    for (let content = source.next(); content !== undefined; content = source.next()) {
      const entries = decodeTracking(content.subarray(LENGTH_BYTES)) ?? [];
      const bytes = trackingFrameBytes(content.length - LENGTH_BYTES);
      this.stream.trackingBytes += bytes;
      this.log.push({ at: this.clock.monotonic(), bytes, entries });
      source.placed();
    }
  }
}
