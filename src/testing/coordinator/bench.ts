/** What the tests of a coordinator are given, and under which rules of time. */
import type { ManualClock } from '../../base/clock.ts';
import type { Coordinator, CoordinatorTimes } from '../../coordinator/coordinator.ts';

/** A coordinator that the contract suite may use until it closes it. */
export interface OpenedCoordinator {
  /** What is tested. */
  readonly coordinator: Coordinator;
  /** Ends this coordinator and opens another one on the same state. */
  reopen(): Promise<OpenedCoordinator>;
  /** Closes it and removes its state. */
  dispose(): Promise<void>;
}

/** A fresh, empty coordinator that takes its time from `clock`. */
export type OpenCoordinator = (clock: ManualClock, times: CoordinatorTimes) => Promise<OpenedCoordinator>;

/** What the tests work with. */
export interface Bench {
  readonly clock: ManualClock;
  readonly coordinator: Coordinator;
  readonly reopen: () => Promise<void>;
}

/** The first moment of the clock of the contract suite: milliseconds since the epoch. */
export const BENCH_START = 1_000_000;
/** The times that the contract suite opens coordinators with. */
export const BENCH_TIMES: CoordinatorTimes = { reservationTtl: 10_000, deleteGrace: 1_000, tombstoneRetention: 50_000 };
