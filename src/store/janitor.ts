/** Keeps house: trims by retention, ends what has expired, and deletes objects whose grace has passed. */
import type { SteadyTime } from '../base/clock.ts';
import type { Timers } from '../base/timers.ts';
import { Turns } from '../base/turns.ts';
import { COORDINATOR_TIMES_DEFAULT, type Coordinator } from '../coordinator/coordinator.ts';
import type { ObjectStore } from '../object/object-store.ts';
import type { Trimming } from './trimming.ts';

/** Idle streams age too, so retention runs on a timer and not only when something is written. */
const INTERVAL = 10_000;
/** Objects deleted in one round. */
const DELETE_AT_ONCE = 1_000;
/** How long closing waits for a round. */
const CLOSING_TIME = 2_000;
/** Then in smaller steps, so that what is deleted is confirmed before the time is over. */
const DELETE_AT_CLOSE = 100;
/** How often it looks for objects in the making that nobody makes any more: it lists all of them. */
const SWEEP_INTERVAL = 3_600_000;
/** The reservation behind an object in the making ends before; what comes on top is for clocks that differ. */
const UNFINISHED_AGE: number = 2 * COORDINATOR_TIMES_DEFAULT.reservationTtl;

export interface JanitorCounters {
  /** Objects that are certainly gone, and answers that did not confirm it: those are asked for again. */
  deleted: number;
  unconfirmed: number;
  /** Rounds that failed. */
  failures: number;
  /** Coordinator time of the last round that ended well, in milliseconds since the epoch. */
  lastSuccessAt: number | undefined;
}

export class Janitor {
  readonly #coordinator: Coordinator;
  readonly #objects: ObjectStore;
  readonly #trimming: Trimming;
  readonly #time: SteadyTime;
  #timers: Timers | undefined;
  #stopTimer: (() => void) | undefined;
  #running: Promise<void> | undefined;
  readonly counters: JanitorCounters = { deleted: 0, unconfirmed: 0, failures: 0, lastSuccessAt: undefined };
  /** Coordinator time of the last sweep. */
  #sweptAt = -Infinity;
  /** Who wants objects to stay, though nothing in the store needs them any more. */
  #holders = 0;
  /** Deletions that overlap would ask for the same objects, and whoever holds them has to wait for all. */
  readonly #deletions = new Turns();

  constructor(coordinator: Coordinator, objects: ObjectStore, trimming: Trimming, time: SteadyTime) {
    this.#coordinator = coordinator;
    this.#objects = objects;
    this.#trimming = trimming;
    this.#time = time;
  }

  start(timers: Timers): void {
    this.#timers = timers;
    this.#stopTimer = timers.every(INTERVAL, () => {
      // A round that fails is tried again at the next tick: nothing depends on when garbage goes.
      this.#running ??= this.round()
        .catch(() => undefined)
        .finally(() => {
          this.#running = undefined;
        });
    });
  }

  /**
   * Ends the rounds. A process that was too short for one makes it now, unless it is to do without: where all are
   * short, as those of a timetable, nothing would ever be deleted. Waits for retention that is at work, too. Takes two
   * seconds at most, whatever hangs: what is under way then is for the next process.
   */
  async stop(withLast = true): Promise<void> {
    this.#stopTimer?.();
    const timers = this.#timers;
    if (timers === undefined) return;
    const isDue = withLast && this.counters.lastSuccessAt === undefined;
    const over = new AbortController();
    const release = timers.hold();
    const rounds = async (): Promise<void> => {
      await this.#running;
      if (isDue) await this.#lastRound(over.signal);
      // The last commits may have let retention go to work.
      await this.#trimming.exclusively(() => Promise.resolve());
    };
    await Promise.race([rounds(), timers.sleep(CLOSING_TIME, over.signal)]).finally(() => {
      over.abort();
      release();
    });
  }

  /** Deletes no object until the returned function is called. Resolves when no deletion is under way. */
  async hold(): Promise<() => void> {
    this.#holders += 1;
    await this.#deletions.take(() => Promise.resolve());
    return () => {
      this.#holders -= 1;
    };
  }

  async #lastRound(over: AbortSignal): Promise<void> {
    try {
      for (let before = -1; before !== this.counters.deleted && !over.aborted;) {
        before = this.counters.deleted;
        await this.round(DELETE_AT_CLOSE);
      }
    } catch {
      // It is counted, and the next process makes another.
    }
  }

  /** One round, whatever the timer says. */
  async round(deleteAtOnce: number = DELETE_AT_ONCE): Promise<void> {
    try {
      await this.#trimming.enforce();
      await this.#coordinator.expire();
      await this.#deletions.take(() => this.#delete(deleteAtOnce));
      await this.#sweep();
      this.counters.lastSuccessAt = (await this.#coordinator.stats()).now;
    } catch (error) {
      this.counters.failures += 1;
      throw error;
    }
  }

  async #delete(atOnce: number): Promise<void> {
    if (this.#holders > 0) return;
    const keys = await this.#coordinator.objectsToDelete(atOnce);
    if (keys.length === 0) return;
    const gone = await this.#objects.delete(keys);
    this.counters.deleted += gone.length;
    this.counters.unconfirmed += keys.length - gone.length;
    await this.#coordinator.confirmDeleted(gone);
  }

  /** Processes that were killed in the middle of a write leave temporary files, or parts of uploads. */
  async #sweep(): Promise<void> {
    const { now } = await this.#coordinator.stats();
    if (now - this.#sweptAt < SWEEP_INTERVAL) return;
    this.#sweptAt = now;
    // Not every server knows unfinished uploads, and nothing depends on when they go.
    await this.#objects.removeUnfinished(unfinishedBefore(now, this.#time)).catch(() => undefined);
  }
}

/**
 * What was last written to before this is made by nobody any more. A jump of a clock must not make it of an object that
 * is being written: neither the coordinator's nor that of this process alone is believed.
 */
export function unfinishedBefore(coordinatorTime: number, time: SteadyTime): number {
  return Math.min(coordinatorTime, time.now()) - UNFINISHED_AGE;
}

/** At open: objects that the last process reserved and never committed. It is gone, and no reader ever saw them. */
export async function removeUnfinished(coordinator: Coordinator, objects: ObjectStore): Promise<void> {
  const reserved = await coordinator.listObjects({ state: 'reserved' });
  if (reserved.length === 0) return;
  const keys = reserved.map(({ key }) => key);
  // All at once, so that they share one sync of the manifest.
  await Promise.all(keys.map((key) => coordinator.abortObject(key)));
  // An opening waits for no object store: what it cannot delete now is for the janitor's rounds.
  const gone = await objects.delete(keys).catch(() => []);
  await coordinator.confirmDeleted(gone);
}
