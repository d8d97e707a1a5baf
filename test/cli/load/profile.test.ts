import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { recordsDue, Schedule, segmentsOf } from '../../../src/cli/load/profile.ts';
import { PROFILES } from '../../../src/cli/load/settings.ts';

const anySettings = fc.record({
  profile: fc.constantFrom(...PROFILES),
  rate: fc.integer({ min: 1, max: 500 }),
  lowRate: fc.integer({ min: 1, max: 500 }),
  seconds: fc.integer({ min: 1, max: 20 }),
  period: fc.integer({ min: 1, max: 9 }),
});

function dueTimes(schedule: Schedule): number[] {
  const times: number[] = [];
  while (schedule.due !== Infinity) {
    times.push(schedule.due);
    schedule.take();
  }
  return times;
}

suite('profiles', () => {
  test('records come due in order, each when as many are due as came before it', () => {
    fc.assert(
      fc.property(anySettings, (settings) => {
        const segments = segmentsOf(settings);
        const schedule = new Schedule(segments);
        const times = dueTimes(schedule);
        assert.equal(times.length, schedule.count);
        assert.ok(Math.abs(schedule.count - recordsDue(segments, settings.seconds)) <= 1);
        for (const [index, time] of times.entries()) {
          assert.ok(time >= (times[index - 1] ?? 0) - 1e-9 && time <= settings.seconds);
          assert.ok(Math.abs(recordsDue(segments, time) - index) < 1e-3, `${index} at ${time}`);
        }
      }),
    );
  });

  test('a steady profile is evenly spaced', () => {
    const [segment] = segmentsOf({ profile: 'steady', rate: 4, lowRate: 1, seconds: 2, period: 1 });
    assert.deepEqual(dueTimes(new Schedule([segment!])), [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75]);
  });

  test('a ramp has the mean rate, and more than half of its records in the second half', () => {
    const times = dueTimes(
      new Schedule(segmentsOf({ profile: 'ramp', rate: 100, lowRate: 0.001, seconds: 10, period: 1 })),
    );
    assert.equal(times.length, 500);
    // Three quarters, but for the one on the border.
    assert.ok(Math.abs(times.filter((time) => time >= 5).length - 375) <= 1);
  });

  test('a burst takes a quarter of each period', () => {
    const segments = segmentsOf({ profile: 'burst', rate: 100, lowRate: 10, seconds: 8, period: 4 });
    assert.deepEqual(
      segments.map(({ seconds, from }) => [seconds, from]),
      [
        [3, 10],
        [1, 100],
        [3, 10],
        [1, 100],
      ],
    );
  });
});
