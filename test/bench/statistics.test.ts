import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { percentile, spreadOf } from '../../bench/statistics.ts';

const samples = fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1, maxLength: 50 });

suite('spread', () => {
  test('the median of an even number of samples is the mean of the middle two', () => {
    assert.deepEqual(spreadOf([4, 1, 3, 2]), { min: 1, median: 2.5, max: 4 });
    assert.deepEqual(spreadOf([9, 1, 5]), { min: 1, median: 5, max: 9 });
  });

  test('half of the samples lie on each side of the median, and all in the range', () => {
    fc.assert(
      fc.property(samples, (values) => {
        const { min, median, max } = spreadOf(values);
        assert.ok(values.every((value) => value >= min && value <= max));
        assert.ok(values.filter((value) => value <= median).length * 2 >= values.length);
        assert.ok(values.filter((value) => value >= median).length * 2 >= values.length);
      }),
    );
  });

  test('no samples have no spread', () => {
    assert.throws(() => spreadOf([]), RangeError);
    assert.throws(() => percentile(new Float64Array(0), 0.5), RangeError);
  });
});

suite('percentile', () => {
  test('is the smallest sample that enough samples do not exceed', () => {
    fc.assert(
      fc.property(samples, fc.double({ min: 0, max: 1, noNaN: true }), (values, share) => {
        const found = percentile(Float64Array.from(values), share);
        const below = (limit: number): number => values.filter((value) => value <= limit).length;
        assert.ok(values.includes(found));
        assert.ok(below(found) >= values.length * share - 1e-9);
        const smaller = values.filter((value) => value < found);
        if (smaller.length > 0) assert.ok(below(Math.max(...smaller)) < values.length * share + 1e-9);
      }),
    );
  });

  test('the ends are the smallest and the largest sample', () => {
    const values = Float64Array.from([5, 3, 9]);
    assert.equal(percentile(values, 0), 3);
    assert.equal(percentile(values, 1), 9);
  });
});
