/**
 * Moves log starts: by retention and by hand. It and truncations take turns, for a log start must never pass the offset
 * where a truncation in the ring lets its stream go on: the flush could not commit that any more.
 */
import type { Clock } from '../base/clock.ts';
import { Turns } from '../base/turns.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { unlessGone } from '../coordinator/unless-gone.ts';
import type { Retention } from '../record/stream-config.ts';
import { ClockTrust } from './clock-trust.ts';

export interface TrimmingHost {
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  /** Whether any stream, or this one, has a truncation in the ring that is in no segment yet. */
  readonly hasTruncations: (streamId?: number) => boolean;
  /** Moves everything appended so far into segments. */
  readonly flush: () => Promise<void>;
  /** The log of the stream starts at `firstOffset` now, and not before unless `moved`. */
  readonly trimmed: (streamId: number, firstOffset: number, moved: boolean) => Promise<void>;
}

/** The coordinator's time may be ahead of the wall clock by this much without the clock having gone back. */
const CLOCK_TOLERANCE = 1_000;

export class Trimming {
  readonly #host: TrimmingHost;
  readonly #clockTrust: ClockTrust;
  readonly #turns = new Turns();
  /** The enforcement that has not started yet: further requests join it. */
  #requested: Promise<void> | undefined;

  constructor(host: TrimmingHost) {
    this.#host = host;
    this.#clockTrust = new ClockTrust(host.clock);
  }

  /** Runs `work` while no log start moves. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.take(work);
  }

  /** Moves the log start up to `beforeOffset`, which has been appended. */
  trim(streamId: number, beforeOffset: number): Promise<void> {
    const { coordinator, flush, hasTruncations, trimmed } = this.#host;
    return this.#turns.take(async () => {
      const before = await coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
      if (beforeOffset > before.nextOffset || hasTruncations(streamId)) await flush();
      const { firstOffset } = await coordinator.trim(streamId, beforeOffset);
      await trimmed(streamId, firstOffset, firstOffset > before.firstOffset);
    });
  }

  /** Lets go what the streams' retention no longer keeps. */
  enforce(): Promise<void> {
    this.#requested ??= this.#turns.take(async () => {
      this.#requested = undefined;
      for (const target of await this.#targets()) await this.#enforce(target);
    });
    return this.#requested;
  }

  async #enforce(target: number | undefined): Promise<void> {
    for (;;) {
      const enforcement = this.#host.coordinator.enforceRetention(target);
      const { streams, more } = await unlessGone(enforcement, { streams: [], more: false });
      for (const { streamId, firstOffset } of streams) await this.#host.trimmed(streamId, firstOffset, true);
      // Nothing trimmed and more to do: what is left cannot go yet.
      if (!more || streams.length === 0) return;
    }
  }

  /** Streams whose retention can be judged now; `undefined` stands for all of them. */
  async #targets(): Promise<readonly (number | undefined)[]> {
    const { coordinator, hasTruncations } = this.#host;
    const streams = await coordinator.streams();
    const bound = streams.filter(({ config }) => isBound(config.retention));
    if (bound.length === 0) return [];
    const byAge = await this.#canJudgeAge();
    if (byAge && !hasTruncations()) return [undefined];
    return bound
      .filter(({ streamId, config }) => (byAge || config.retention.maxAge === undefined) && !hasTruncations(streamId))
      .map(({ streamId }) => streamId);
  }

  /**
   * Not after a jump of the clock, and not while it is behind the coordinator's time, which never goes back: new
   * records would look as old as the clock went back.
   */
  async #canJudgeAge(): Promise<boolean> {
    const { coordinator, clock } = this.#host;
    const isTrusted = this.#clockTrust.check();
    const { now } = await coordinator.stats();
    return isTrusted && now - clock.now() <= CLOCK_TOLERANCE;
  }
}

function isBound({ maxBytes, maxAge }: Retention): boolean {
  return maxBytes !== undefined || maxAge !== undefined;
}
