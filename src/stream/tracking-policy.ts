/**
 * When a stream's gathered consumer offsets are written: pure. The more of what is written is tracking, the longer it
 * waits and the more storing calls one delta absorbs; consumer commits alone can never push user data out.
 */

export interface TrackingSettings {
  /** Largest share of tracking in user bytes. Default 0.05. */
  readonly budget: number;
  /** Milliseconds that a stored offset waits at most: the window that a crash may lose. Default 5,000. */
  readonly maxInterval: number;
}

export const TRACKING_SETTINGS_DEFAULT: TrackingSettings = { budget: 0.05, maxInterval: 5_000 };

/** Milliseconds between deltas while the budget allows them. */
export const TRACKING_MIN_INTERVAL = 100;
/** Past bytes count half after this many milliseconds: the share is one of recent traffic. */
const HALF_LIFE = 60_000;

/** Bytes written lately, older ones fading. */
export class RecentBytes {
  #user = 0;
  #tracking = 0;
  #at: number;

  constructor(now: number) {
    this.#at = now;
  }

  addUser(now: number, bytes: number): void {
    this.#fade(now);
    this.#user += bytes;
  }

  addTracking(now: number, bytes: number): void {
    this.#fade(now);
    this.#tracking += bytes;
  }

  /** Whether `bytes` more of tracking stay within `budget` of the user bytes. */
  allows(now: number, bytes: number, budget: number): boolean {
    this.#fade(now);
    return this.#tracking + bytes <= budget * this.#user;
  }

  /** Tracking as a share of all bytes; 0 when there are none. */
  share(now: number): number {
    this.#fade(now);
    return this.#tracking === 0 ? 0 : this.#tracking / (this.#tracking + this.#user);
  }

  #fade(now: number): void {
    const elapsed = now - this.#at;
    if (elapsed <= 0) return;
    const factor = 2 ** (-elapsed / HALF_LIFE);
    this.#user *= factor;
    this.#tracking *= factor;
    this.#at = now;
  }
}

/**
 * Milliseconds until a delta of `bytes` may be written, `sinceLast` milliseconds after the one before; 0 means now.
 * Either the delta is within the budget, or the interval has reached its maximum.
 */
export function waitBeforeDelta(
  recent: RecentBytes,
  settings: TrackingSettings,
  now: number,
  sinceLast: number,
  bytes: number,
): number {
  const least = Math.min(TRACKING_MIN_INTERVAL, settings.maxInterval);
  if (sinceLast < least) return least - sinceLast;
  if (sinceLast >= settings.maxInterval || recent.allows(now, bytes, settings.budget)) return 0;
  // User data may arrive at any moment and make room: look again soon, at the maximum at the latest.
  return Math.min(least, settings.maxInterval - sinceLast);
}
