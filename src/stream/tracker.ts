/**
 * A stream's consumer offsets and publishers on the writing side. Stored offsets gather in memory, last write wins, and
 * reach the log as one delta when the policy lets them; publishers reach it inside their records' frames.
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { REFERENCES_MAX } from '../limits/limits.ts';
import { encodeTracking, TRACKING_ENTRY, trackingBytes, type TrackingEntry } from '../record/tracking-format.ts';
import { TRACKING_LENGTH_BYTES } from '../record/tracking-frames.ts';
import type { TrackingState } from '../record/tracking-state.ts';
import type { WritableStreamState } from './frame-appender.ts';
import { RecentBytes, TRACKING_MIN_INTERVAL, type TrackingSettings, waitBeforeDelta } from './tracking-policy.ts';

export interface TrackerHost {
  readonly clock: Clock;
  readonly settings: TrackingSettings;
  /** Writes a tracking frame; resolves when it is durable. */
  write(content: Uint8Array): Promise<void>;
  /** Calls back after some milliseconds, unless cancelled. */
  later(milliseconds: number, callback: () => void): () => void;
}

export interface TrackerStats {
  /** Milliseconds between the last two deltas. */
  readonly interval: number;
  /** Tracking as a share of recent user bytes. */
  readonly share: number;
  readonly references: number;
  readonly publishers: number;
  readonly deltas: number;
  readonly deltaBytes: number;
}

export class StreamTracker {
  readonly state: TrackingState;
  readonly #stream: WritableStreamState;
  readonly #host: TrackerHost;
  readonly #recent: RecentBytes;
  /** Stored and not in the log yet; `undefined` means removed. */
  readonly #pending = new Map<string, number | undefined>();
  #countedUserBytes: number;
  #lastDeltaAt: number;
  #interval = TRACKING_MIN_INTERVAL;
  #cancelTimer: (() => void) | undefined;
  /** Bytes of deltas since the last snapshot, publishers' marks included. */
  #deltaBytes = 0;
  readonly #markedPublishers = new Set<string>();
  #deltas = 0;
  #totalDeltaBytes = 0;

  constructor(state: TrackingState, stream: WritableStreamState, host: TrackerHost) {
    this.state = state;
    this.#stream = stream;
    this.#host = host;
    this.#recent = new RecentBytes(host.clock.monotonic());
    this.#lastDeltaAt = host.clock.monotonic() - TRACKING_MIN_INTERVAL;
    this.#countedUserBytes = stream.userBytes;
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
    if (offset !== undefined && this.offset(reference) === undefined)
      this.#checkRoom(this.offsets().size, 'references');
    this.#pending.set(reference, offset);
    if (durable) await this.flush();
    else this.#arm();
  }

  /** Writes what has gathered; resolves when it is durable. */
  async flush(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#pending.size === 0) return;
    await this.#host.write(frameContent(this.#takePending()));
  }

  /** The stream was cut to end at `nextOffset`; resolves when what that changes is durable. */
  async cut(nextOffset: number): Promise<void> {
    for (const [reference, offset] of this.#pending) {
      if (offset !== undefined && offset >= nextOffset)
        this.#pending.set(reference, nextOffset === 0 ? undefined : nextOffset - 1);
    }
    const entries = this.state.cut(nextOffset);
    if (entries.length > 0) await this.#host.write(frameContent(entries));
  }

  /** Throws when one more publisher would be too many. */
  checkPublisher(reference: string): void {
    if (!this.state.publishers.has(reference)) this.#checkRoom(this.state.publishers.size, 'publishers');
  }

  /** A publisher's record entered the log. */
  published(reference: string, publishingId: number, offset: number): void {
    this.state.publishers.set(reference, { publishingId, offset });
    this.#markedPublishers.add(reference);
  }

  /**
   * The whole state, when the deltas since the last snapshot outweigh it; `undefined` otherwise. Called as a slot is
   * sealed, so that the snapshot holds what that slot and all before it say, and nothing later.
   */
  takeSnapshot(): Uint8Array | undefined {
    for (const reference of this.#markedPublishers) this.#deltaBytes += 2 * 8 + 2 + Buffer.byteLength(reference);
    this.#markedPublishers.clear();
    if (this.#deltaBytes === 0) return undefined;
    const entries = this.state.snapshot();
    if (this.#deltaBytes <= trackingBytes(entries)) return undefined;
    this.#deltaBytes = 0;
    return encodeTracking(entries);
  }

  stats(): TrackerStats {
    const now = this.#host.clock.monotonic();
    this.#countUser(now);
    return {
      interval: this.#interval,
      share: this.#recent.share(now),
      references: this.offsets().size,
      publishers: this.state.publishers.size,
      deltas: this.#deltas,
      deltaBytes: this.#totalDeltaBytes,
    };
  }

  /** Forgets what has not been written. */
  discard(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#pending.clear();
  }

  #arm(): void {
    if (this.#cancelTimer !== undefined) return;
    const now = this.#host.clock.monotonic();
    this.#countUser(now);
    const bytes = trackingBytes(this.#pendingEntries());
    const wait = waitBeforeDelta(this.#recent, this.#host.settings, now, now - this.#lastDeltaAt, bytes);
    this.#cancelTimer = this.#host.later(wait, () => {
      this.#cancelTimer = undefined;
      this.#due();
    });
  }

  #due(): void {
    const now = this.#host.clock.monotonic();
    this.#countUser(now);
    const bytes = trackingBytes(this.#pendingEntries());
    const wait = waitBeforeDelta(this.#recent, this.#host.settings, now, now - this.#lastDeltaAt, bytes);
    if (wait > 0) {
      this.#arm();
      return;
    }
    // A failure poisons the lane, which tells everybody who waits; nobody waits for this delta.
    this.flush().catch(() => undefined);
  }

  #takePending(): TrackingEntry[] {
    const entries = this.#pendingEntries();
    const bytes = trackingBytes(entries);
    const now = this.#host.clock.monotonic();
    this.#pending.clear();
    this.#countUser(now);
    this.#recent.addTracking(now, bytes);
    this.#interval = now - this.#lastDeltaAt;
    this.#lastDeltaAt = now;
    this.#deltaBytes += bytes;
    this.#totalDeltaBytes += bytes;
    this.#deltas += 1;
    // Readable at once: a crash before the frame is durable loses at most what the interval may lose anyway.
    this.state.apply(entries);
    return entries;
  }

  #pendingEntries(): TrackingEntry[] {
    return [...this.#pending].map(([reference, offset]) =>
      offset === undefined
        ? { type: TRACKING_ENTRY.offsetRemoved, reference }
        : { type: TRACKING_ENTRY.offset, reference, offset },
    );
  }

  #countUser(now: number): void {
    assert(this.#stream.userBytes >= this.#countedUserBytes, 'user bytes only grow');
    this.#recent.addUser(now, this.#stream.userBytes - this.#countedUserBytes);
    this.#countedUserBytes = this.#stream.userBytes;
  }

  #checkRoom(count: number, what: 'references' | 'publishers'): void {
    if (count < REFERENCES_MAX) return;
    throw new MillraceError(
      'ERR_MILLRACE_TOO_MANY_REFERENCES',
      `the stream has ${count} ${what}, which is the most it may have: remove some first`,
      { details: { count, limit: REFERENCES_MAX } },
    );
  }
}

/** A tracking frame's content: the length of the entries, then the entries. */
export function frameContent(entries: readonly TrackingEntry[]): Uint8Array {
  const encoded = encodeTracking(entries);
  const content = new Uint8Array(TRACKING_LENGTH_BYTES + encoded.length);
  new DataView(content.buffer).setUint32(0, encoded.length, true);
  content.set(encoded, TRACKING_LENGTH_BYTES);
  return content;
}
