import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseBenchOptions, parseSize } from '../../bench/options.ts';
import { WORKLOADS } from '../../bench/workloads.ts';

suite('options', () => {
  test('a quick run is small in every respect', () => {
    const quick = parseBenchOptions(['--quick']);
    const full = parseBenchOptions([]);
    assert.ok(quick.rounds < full.rounds);
    assert.ok(quick.sustainedBytes < full.sustainedBytes);
    assert.equal(quick.ballastBytes, 0);
  });

  test('what is asked for outweighs quick', () => {
    const { rounds, sustainedBytes } = parseBenchOptions(['--quick', '--rounds', '9', '--size', '1GB']);
    assert.deepEqual([rounds, sustainedBytes], [9, 1e9]);
  });

  test('names are separated by commas or options', () => {
    assert.deepEqual(parseBenchOptions(['--only', 'a,b', '--only', 'c']).only, ['a', 'b', 'c']);
  });

  test('sizes have units; what is none is refused with its name', () => {
    assert.equal(parseSize('size', '1.5kB', 0), 1_500);
    assert.equal(parseSize('size', undefined, 7), 7);
    assert.throws(() => parseSize('size', 'much', 0), /--size takes a size/);
    assert.throws(() => parseBenchOptions(['--rounds', '0']), /--rounds takes a whole number/);
    assert.throws(() => parseBenchOptions(['--fast']), /--fast/);
  });
});

suite('workloads', () => {
  test('have names of their own, and figures that do', () => {
    const names = WORKLOADS.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const { figures } of WORKLOADS) {
      assert.ok(figures.length > 0);
      assert.equal(new Set(figures.map(({ name }) => name)).size, figures.length);
    }
  });
});
