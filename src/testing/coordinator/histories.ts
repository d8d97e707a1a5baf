import fc from 'fast-check';
import { ManualClock } from '../../base/clock.ts';
import { History, steps } from './history.ts';
import { BENCH_START, BENCH_TIMES, type OpenCoordinator } from './bench.ts';
import type { TestFunctions } from '../test-functions.ts';

const RUNS = 60;

export function histories(open: OpenCoordinator, { test }: TestFunctions): void {
  test("after every step of a random history, invariants hold and all answers are the model's", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const clock = new ManualClock(BENCH_START);
        let opened = await open(clock, BENCH_TIMES);
        try {
          const reopen = async (): Promise<typeof opened.coordinator> => {
            opened = await opened.reopen();
            return opened.coordinator;
          };
          const world = new History(opened.coordinator, clock, BENCH_TIMES, reopen);
          for (const step of history) await world.step(step);
        } finally {
          await opened.dispose();
        }
      }),
      { numRuns: RUNS },
    );
  });
}
