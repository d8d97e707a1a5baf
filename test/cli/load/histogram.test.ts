import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { TimeHistogram } from '../../../src/cli/load/histogram.ts';

suite('histograms of times', () => {
  test('percentiles are those of the sorted times, to three digits', () => {
    const times = fc.array(fc.double({ min: 0.002, max: 60_000, noNaN: true }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(times, (samples) => {
        const histogram = new TimeHistogram();
        for (const time of samples) histogram.record(time);
        const sorted = samples.toSorted((left, right) => left - right);
        const exact = (share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
        const { p50, p99, max, count } = histogram.percentiles();
        const near = (found: number, wanted: number): boolean => Math.abs(found - wanted) <= wanted * 0.002 + 0.001;
        assert.equal(count, samples.length);
        assert.ok(near(p50, exact(0.5)), `${p50} for ${exact(0.5)}`);
        assert.ok(near(p99, exact(0.99)));
        assert.ok(near(max, exact(1)));
      }),
      { numRuns: 50 },
    );
  });

  test('the curve never falls and ends with the slowest', () => {
    const histogram = new TimeHistogram();
    for (let time = 1; time <= 1_000; time += 1) histogram.record(time);
    const curve = histogram.curve();
    assert.ok(curve.every(([, value], index) => index === 0 || value >= curve[index - 1]![1]));
    assert.ok(curve.at(-1)![1] >= 999);
  });

  test('sums hold what their parts held', () => {
    const [sum, part] = [new TimeHistogram(), new TimeHistogram()];
    sum.record(1);
    part.record(5);
    sum.add(TimeHistogram.unpack(part.pack()));
    assert.equal(sum.count, 2);
    // On the way to another thread, times keep three digits.
    assert.ok(Math.abs(sum.percentiles().max - 5) <= 0.005);
  });

  test('times out of range are the least and the most it knows', () => {
    const histogram = new TimeHistogram();
    for (const time of [-5, 1e12]) histogram.record(time);
    const { count, max } = histogram.percentiles();
    assert.ok(count === 2 && max >= 3_600_000);
    assert.deepEqual(new TimeHistogram().percentiles().max, 0);
    assert.deepEqual(new TimeHistogram().curve(), []);
  });
});
