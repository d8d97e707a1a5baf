import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { compare, comparisonText } from '../../bench/check.ts';
import type { FigureResult } from '../../bench/results.ts';
import { figure, resultsOf } from './fixture.ts';

const FLOOR = [100, 100, 100];

function worse(before: readonly number[], now: readonly number[], better: FigureResult['better'] = 'higher'): boolean {
  const runOf = (millrace: readonly number[]): ReturnType<typeof resultsOf> =>
    resultsOf([figure({ millrace, floor: FLOOR, better })]);
  const [change] = compare(runOf(before), runOf(now));
  assert.ok(change !== undefined);
  return change.worse;
}

suite('comparison with an earlier run', () => {
  test('a loss within the range of either run is noise', () => {
    assert.equal(worse([80, 85, 90], [76, 76, 76]), false);
    assert.equal(worse([85, 85, 85], [70, 78, 84]), false);
  });

  test('a loss beyond both ranges is worse', () => {
    assert.equal(worse([80, 85, 90], [70, 74, 75]), true);
  });

  test('a loss of less than five percent is noise even between steady runs', () => {
    assert.equal(worse([80, 80, 80], [77, 77, 77]), false);
    assert.equal(worse([80, 80, 80], [75, 75, 75]), true);
  });

  test('the wrong direction depends on the figure', () => {
    assert.equal(worse([80, 80, 80], [120, 120, 120]), false);
    assert.equal(worse([80, 80, 80], [120, 120, 120], 'lower'), true);
    assert.equal(worse([80, 80, 80], [40, 40, 40], 'lower'), false);
  });

  test('figures without a ratio in both runs are left out', () => {
    const without = resultsOf([figure({ floor: [] })]);
    const other = resultsOf([figure({ name: 'another' })]);
    assert.deepEqual(compare(without, resultsOf([figure()])), []);
    assert.deepEqual(compare(other, resultsOf([figure()])), []);
  });

  test('the text names what is worse, and a machine that is not the same', () => {
    const before = resultsOf([figure({ millrace: [80] })]);
    const now = resultsOf([figure({ millrace: [40] })], {
      machine: { ...before.machine, processor: 'another processor' },
    });
    const text = comparisonText(compare(before, now), before, now);
    assert.match(text, /WORSE {2}burst, rate: ratio 0\.400, was 0\.800/);
    assert.match(text, /another machine: a processor, 2 cores/);
    assert.match(text, /1 ratios compared with the earlier run, 1 worse/);
  });
});
