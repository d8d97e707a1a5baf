/**
 * The coordinator's counts as they were last asked for: `stats()` and `metrics()` answer at once, the coordinator
 * cannot.
 */
import type { Timers } from '../base/timers.ts';
import type { Coordinator, CoordinatorStats } from '../coordinator/coordinator.ts';

/** How old the counts get while nothing else refreshes them. */
const INTERVAL = 1_000;

const NOTHING: CoordinatorStats = {
  streams: 0,
  runs: 0,
  jobs: 0,
  objects: { reserved: 0, committed: 0, deleting: 0, gone: 0 },
  committedBytes: 0,
  liveBytes: 0,
  deletingBytes: 0,
  now: 0,
};

export class CatalogueGauge {
  readonly #coordinator: Coordinator;
  #latest: CoordinatorStats = NOTHING;
  #stopTimer: (() => void) | undefined;

  constructor(coordinator: Coordinator) {
    this.#coordinator = coordinator;
  }

  get latest(): CoordinatorStats {
    return this.#latest;
  }

  start(timers: Timers): void {
    this.#stopTimer = timers.every(INTERVAL, () => {
      // A coordinator that cannot be reached leaves the counts as they were.
      this.refresh().catch(() => undefined);
    });
  }

  stop(): void {
    this.#stopTimer?.();
  }

  async refresh(): Promise<void> {
    this.#latest = await this.#coordinator.stats();
  }
}
