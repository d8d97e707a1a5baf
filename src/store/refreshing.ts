/**
 * Looks, at an interval, for what other processes have committed. One look may fail for a reason that passes; after
 * many in a row what is known here is stale, and readers are told instead of waiting for what they could not see.
 */
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { Timers } from '../base/timers.ts';
import type { Followers } from '../stream/followers.ts';
import type { Removals } from '../stream/removals.ts';

/** Milliseconds between looks. */
const INTERVAL = 100;
/** Rounds between looks at how streams are configured: that is all streams in one answer. */
const CONFIG_ROUNDS = 50;
/** Failures in a row that readers do not notice: five seconds of them, where each comes at once. */
const FAILURES_TOLERATED = 50;

export class Refreshing {
  readonly #coordinator: Pick<Coordinator, 'refresh'>;
  readonly #followers: Pick<Followers, 'wakeAll'>;
  readonly #removals: Removals;
  #stopTimer: (() => void) | undefined;
  readonly #takeOverConfigs: () => Promise<void>;
  #rounds = 0;
  #failures = 0;
  #error: unknown;

  constructor(
    coordinator: Pick<Coordinator, 'refresh'>,
    followers: Pick<Followers, 'wakeAll'>,
    removals: Removals,
    takeOverConfigs: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#coordinator = coordinator;
    this.#followers = followers;
    this.#removals = removals;
    this.#takeOverConfigs = takeOverConfigs;
  }

  start(timers: Timers): void {
    this.#stopTimer = timers.every(INTERVAL, () => void this.round());
  }

  stop(): void {
    this.#stopTimer?.();
  }

  /** Throws what keeps this process from seeing anything new. */
  check(): void {
    if (this.#failures >= FAILURES_TOLERATED) throw this.#error;
  }

  /** One look, whatever the timer says. Never rejects. */
  async round(): Promise<void> {
    try {
      await this.#coordinator.refresh();
      this.#removals.happened();
      this.#rounds += 1;
      if (this.#rounds % CONFIG_ROUNDS === 0) await this.#takeOverConfigs();
      this.#failures = 0;
      this.#error = undefined;
    } catch (error) {
      this.#failures += 1;
      this.#error = error;
      if (this.#failures < FAILURES_TOLERATED) return;
    }
    // Followers look again: there may be more to read, or a reason why there is not.
    this.#followers.wakeAll();
  }
}
