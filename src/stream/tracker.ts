/**
 * A stream's consumer offsets and publishers on the writing side. Stored offsets gather in memory, last write wins, and
 * reach the log as one delta when the policy lets them; publishers reach it inside their records' frames. `state` is
 * what the log says up to its last frame, never more: a snapshot of it claims nothing that a crash could lose.
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { PublisherMark } from '../coordinator/coordinator.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { REFERENCES_MAX, TRACKING_FRAME_BYTES_MAX } from '../limits/limits.ts';
import { encodeTracking, trackingBytes, type TrackingEntry } from '../record/tracking-format.ts';
import { frameContent, trackingFrameBytes } from '../record/tracking-frames.ts';
import type { TrackingState } from '../record/tracking-state.ts';
import type { WritableStreamState } from './frame-appender.ts';
import type { TrackingSource } from './lane.ts';
import { PendingOffsets } from './pending-offsets.ts';
import type { TrackingDebt } from './tracking-loader.ts';
import { RecentBytes, TRACKING_MIN_INTERVAL, type TrackingSettings, waitBeforeDelta } from './tracking-policy.ts';
import type { StreamReferences } from './stream-references.ts';
import { UnsnapshottedTracking } from './unsnapshotted-tracking.ts';

/** The removal of a consumer that is not there says nothing. */
const NOBODY = '-';

export interface TrackerHost {
  readonly clock: Clock;
  readonly settings: TrackingSettings;
  /** Writes tracking frames; resolves when they are durable. */
  write(source: TrackingSource): Promise<void>;
  /** Calls back after some milliseconds, unless cancelled. */
  later(milliseconds: number, callback: () => void): () => void;
}

export interface TrackerStats {
  /** Milliseconds that the last delta gathered: what a crash could have lost. */
  readonly interval: number;
  /** Tracking as a share of the bytes written lately: 0 to 1. */
  readonly share: number;
  readonly references: number;
  readonly publishers: number;
  readonly deltas: number;
  readonly snapshots: number;
  /** Bytes of tracking that entered the log, and of snapshots. */
  readonly bytes: number;
}

export class StreamTracker implements StreamReferences {
  readonly state: TrackingState;
  readonly #stream: WritableStreamState;
  readonly #host: TrackerHost;
  readonly #recent: RecentBytes;
  readonly #unsnapshotted: UnsnapshottedTracking;
  readonly #pending = new PendingOffsets();
  /** When the oldest of `#pending` was stored. */
  #pendingSince = 0;
  /** Consumers of `state` and `#pending` together. */
  #references: number;
  /** What waits for its turn in the log: resolves when it is durable. */
  #turn: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #countedUserBytes: number;
  #countedTrackingBytes: number;
  #lastDeltaAt: number;
  #interval = 0;
  #deltas = 0;
  #snapshots = 0;
  #snapshotBytes = 0;

  constructor(state: TrackingState, stream: WritableStreamState, host: TrackerHost, debt: TrackingDebt) {
    this.state = state;
    this.#stream = stream;
    this.#host = host;
    this.#unsnapshotted = new UnsnapshottedTracking(debt);
    const now = host.clock.monotonic();
    this.#recent = new RecentBytes(now);
    this.#lastDeltaAt = now - TRACKING_MIN_INTERVAL;
    this.#countedUserBytes = stream.userBytes;
    this.#countedTrackingBytes = stream.trackingBytes;
    this.#references = state.offsets.size;
  }

  /** The stored offset, written or not; `undefined` when there is none. */
  offset(reference: string): number | undefined {
    return this.#pending.has(reference) ? this.#pending.get(reference) : this.state.offsets.get(reference);
  }

  /** All references and their offsets. */
  offsets(): Map<string, number> {
    const offsets = new Map(this.state.offsets);
    for (const [reference, offset] of this.#pending) {
      if (offset === undefined) offsets.delete(reference);
      else offsets.set(reference, offset);
    }
    return offsets;
  }

  /** Stores an offset, or removes the reference; resolves at once, or when it is durable. */
  async store(reference: string, offset: number | undefined, durable: boolean): Promise<void> {
    const known = this.offset(reference) !== undefined;
    if (!known && offset !== undefined) this.#checkRoom();
    if (this.#pending.size === 0) this.#pendingSince = this.#host.clock.monotonic();
    this.#pending.set(reference, offset);
    this.#references += Number(offset !== undefined) - Number(known);
    if (durable) await this.flush();
    else this.#arm();
  }

  /** Writes what has gathered; resolves when it is durable. */
  flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#turn !== undefined) return this.#turn;
    if (this.#pending.size === 0) return Promise.resolve();
    const written = this.#host.write(this.#delta());
    // The ring is full: what is stored until there is room shares the turn.
    if (this.#pending.size > 0) this.#turn = written;
    return written;
  }

  /** The stream was cut to end at `nextOffset`: consumers go back to its end, or go where that is no longer there. */
  cut(nextOffset: number, firstOffset: number): void {
    this.state.cut(nextOffset);
    this.#unsnapshotted.cut();
    for (const [reference, offset] of this.#pending) {
      if (offset === undefined || offset < nextOffset) continue;
      this.#pending.set(reference, nextOffset === 0 ? undefined : nextOffset - 1);
    }
    this.trimmed(firstOffset);
  }

  /** The log starts at `firstOffset` now: consumers below it go. */
  trimmed(firstOffset: number): void {
    for (const [reference, offset] of this.#pending) {
      if (offset === undefined || offset >= firstOffset) continue;
      if (this.state.offsets.has(reference)) this.#pending.set(reference, undefined);
      else this.#pending.delete(reference);
    }
    this.state.evictBelow(firstOffset);
    this.#references = this.offsets().size;
  }

  /**
   * Records below the log start are kept in objects for the tracking beside them alone: the next snapshot sets them
   * free, and is due whatever it weighs.
   */
  wantSnapshot(): void {
    this.#unsnapshotted.wantSnapshot();
  }

  /**
   * Lets an entry enter the log that changes nothing: a snapshot is taken as a filling ends, and where nothing is
   * written no filling begins.
   */
  touch(): void {
    if (this.#pending.size > 0) return;
    const [reference = NOBODY] = this.state.offsets.keys();
    void this.store(reference, this.state.offsets.get(reference), false);
  }

  /** Everything is known from the start. */
  ready(): undefined {
    return undefined;
  }

  publisher(reference: string): PublisherMark | undefined {
    return this.state.publishers.get(reference);
  }

  forget(): void {
    // This process alone publishes: what it knows is right.
  }

  /** A publisher's record entered the log. */
  published(reference: string, publishingId: number, offset: number): void {
    this.state.published(reference, publishingId, offset);
    this.#unsnapshotted.published(reference);
  }

  /**
   * The whole state, when what came since the last snapshot outweighs it or takes too many reads; `undefined`
   * otherwise. Called as a filling ends, so that the snapshot holds what that filling and all before it say.
   */
  takeSnapshot(): Uint8Array | undefined {
    if (!this.#unsnapshotted.endFilling()) return undefined;
    const entries = this.state.snapshot();
    const bytes = trackingBytes(entries);
    if (!this.#unsnapshotted.outweighs(bytes)) return undefined;
    this.#unsnapshotted.snapshotTaken();
    this.#recent.addTracking(this.#host.clock.monotonic(), bytes);
    this.#snapshots += 1;
    this.#snapshotBytes += bytes;
    return encodeTracking(entries);
  }

  stats(): TrackerStats {
    const now = this.#host.clock.monotonic();
    this.#count(now);
    return {
      interval: this.#interval,
      share: this.#recent.share(now),
      references: this.#references,
      publishers: this.state.publishers.size,
      deltas: this.#deltas,
      snapshots: this.#snapshots,
      bytes: this.#stream.trackingBytes + this.#snapshotBytes,
    };
  }

  /** Forgets what has not been written. */
  discard(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#pending.clear();
    this.#references = this.state.offsets.size;
  }

  #arm(): void {
    if (this.#cancelTimer !== undefined || this.#turn !== undefined) return;
    this.#cancelTimer = this.#host.later(this.#waitBeforeDelta(), () => {
      this.#cancelTimer = undefined;
      if (this.#pending.size === 0) return;
      // A failure poisons the lane, which tells everybody who waits; nobody waits for this delta.
      if (this.#waitBeforeDelta() === 0) this.flush().catch(() => undefined);
      else this.#arm();
    });
  }

  #waitBeforeDelta(): number {
    const now = this.#host.clock.monotonic();
    this.#count(now);
    const bytes = trackingFrameBytes(this.#pending.bytes);
    return waitBeforeDelta(this.#recent, this.#host.settings, now, now - this.#lastDeltaAt, bytes);
  }

  /** What is pending when its turn comes, in as many frames as it takes. */
  #delta(): TrackingSource {
    let taken: TrackingEntry[] = [];
    let frames = 0;
    return {
      next: () => {
        taken = this.#pending.first(TRACKING_FRAME_BYTES_MAX);
        if (taken.length > 0) return frameContent(taken);
        if (frames > 0) this.#deltaWritten();
        this.#turn = undefined;
        return undefined;
      },
      placed: () => {
        frames += 1;
        this.state.apply(taken);
        this.#pending.remove(taken);
        for (const entry of taken) this.#unsnapshotted.stored(entry);
      },
    };
  }

  #deltaWritten(): void {
    const now = this.#host.clock.monotonic();
    this.#count(now);
    this.#interval = now - this.#pendingSince;
    this.#lastDeltaAt = now;
    this.#deltas += 1;
  }

  /** Takes over what the lane has written of the stream. */
  #count(now: number): void {
    const { userBytes, trackingBytes: tracking } = this.#stream;
    assert(userBytes >= this.#countedUserBytes && tracking >= this.#countedTrackingBytes, 'counters only grow');
    this.#recent.addUser(now, userBytes - this.#countedUserBytes);
    this.#recent.addTracking(now, tracking - this.#countedTrackingBytes);
    this.#countedUserBytes = userBytes;
    this.#countedTrackingBytes = tracking;
  }

  #checkRoom(): void {
    if (this.#references < REFERENCES_MAX) return;
    throw new MillraceError(
      'ERR_MILLRACE_TOO_MANY_REFERENCES',
      `the stream has ${this.#references} references, which is the most it may have: delete some first`,
      { details: { count: this.#references, limit: REFERENCES_MAX } },
    );
  }
}
