/** What every coordinator must do, wherever it keeps its state. */
import { ManualClock } from '../base/clock.ts';
import {
  BENCH_START,
  BENCH_TIMES,
  type Bench,
  type OpenCoordinator,
  type OpenedCoordinator,
} from './coordinator/bench.ts';
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
import { nodeTest, type TestFunctions } from './test-functions.ts';

/** Declares the tests that every coordinator passes, with node:test or the functions of another runner. */
export function coordinatorContract(name: string, open: OpenCoordinator, functions: TestFunctions = nodeTest): void {
  const { describe, beforeEach, afterEach } = functions;
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

    describe('streams', () => streams(bench, functions));
    describe('objects', () => objects(bench, functions));
    describe('runs', () => runs(bench, functions));
    describe('tracking', () => tracking(bench, functions));
    describe('references', () => references(bench, functions));
    describe('retention', () => retention(bench, functions));
    describe('truncation', () => truncation(bench, functions));
    describe('jobs', () => jobs(bench, functions));
    describe('deletion', () => deletion(bench, functions));
    describe('histories', () => histories(open, functions));
  });
}
