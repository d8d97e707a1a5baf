/** What every coordinator must do, wherever it keeps its state. */
import { afterEach, beforeEach, describe } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import type { Coordinator, CoordinatorTimes } from '../../src/coordinator/coordinator.ts';
import { deletion } from './coordinator/deletion.ts';
import { histories } from './coordinator/histories.ts';
import { jobs } from './coordinator/jobs.ts';
import { objects } from './coordinator/objects.ts';
import { references } from './coordinator/references.ts';
import { retention } from './coordinator/retention.ts';
import { runs } from './coordinator/runs.ts';
import { streams } from './coordinator/streams.ts';
import { tracking } from './coordinator/tracking.ts';
import { truncation } from './coordinator/truncation.ts';

export interface OpenedCoordinator {
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

export const BENCH_START = 1_000_000;
export const BENCH_TIMES: CoordinatorTimes = { reservationTtl: 10_000, deleteGrace: 1_000, tombstoneRetention: 50_000 };

export function coordinatorContract(name: string, open: OpenCoordinator): void {
  describe(`coordinator contract: ${name}`, () => {
    let clock: ManualClock;
    let opened: OpenedCoordinator;
    const bench = (): Bench => ({
      clock,
      coordinator: opened.coordinator,
      reopen: async () => {
        opened = await opened.reopen();
      },
    });
    beforeEach(async () => {
      clock = new ManualClock(BENCH_START);
      opened = await open(clock, BENCH_TIMES);
    });
    afterEach(() => opened.dispose());

    describe('streams', () => streams(bench));
    describe('objects', () => objects(bench));
    describe('runs', () => runs(bench));
    describe('tracking', () => tracking(bench));
    describe('references', () => references(bench));
    describe('retention', () => retention(bench));
    describe('truncation', () => truncation(bench));
    describe('jobs', () => jobs(bench));
    describe('deletion', () => deletion(bench));
    describe('histories', () => histories(open));
  });
}
