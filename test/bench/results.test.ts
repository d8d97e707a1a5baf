import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { resultsText } from '../../bench/output.ts';
import { ratioOf, readResults, samplesOf, verdictOf, writeResults } from '../../bench/results.ts';
import { figure, resultsOf, targeted } from './fixture.ts';

const dir = mkdtempSync(join(tmpdir(), 'millrace-bench-results-'));
after(() => {
  rmSync(dir, { recursive: true });
});

suite('verdicts', () => {
  const atLeast = { subject: 'ratio', bound: 'at least', limit: 0.8, goal: 0.85 } as const;

  test('a ratio is judged by its median over the rounds, each with its own floor', () => {
    const result = targeted(atLeast, { millrace: [10, 160, 90], floor: [100, 200, 100] });
    assert.deepEqual(ratioOf(result), { min: 0.1, median: 0.8, max: 0.9 });
    assert.equal(verdictOf(result), 'met');
  });

  test('what misses the limit is missed, and what reaches the goal says so', () => {
    assert.equal(verdictOf(targeted(atLeast, { millrace: [79] })), 'missed');
    assert.equal(verdictOf(targeted(atLeast, { millrace: [85] })), 'goal met');
  });

  test('an upper bound is met from below', () => {
    const target = { subject: 'value', bound: 'at most', limit: 50 } as const;
    assert.equal(verdictOf(targeted(target, { millrace: [50], floor: [] })), 'met');
    assert.equal(verdictOf(targeted(target, { millrace: [51], floor: [] })), 'missed');
  });

  test('a difference is to the floor of the same round', () => {
    const target = { subject: 'difference', bound: 'at most', limit: 1 } as const;
    const result = targeted(target, { millrace: [3, 11], floor: [2, 10.5] });
    assert.deepEqual(samplesOf(result, 'difference'), [1, 0.5]);
    assert.equal(verdictOf(result), 'met');
  });

  test('a ratio without a floor, and a figure without a target, are not judged', () => {
    assert.equal(ratioOf(figure({ floor: [] })), undefined);
    assert.equal(verdictOf(targeted(atLeast, { floor: [] })), 'no target');
    assert.equal(verdictOf(figure()), 'no target');
  });
});

suite('results files', () => {
  test('are read as they were written', () => {
    const path = join(dir, 'results.json');
    const results = resultsOf([figure()]);
    writeResults(path, results);
    assert.deepEqual(readResults(path), results);
  });

  test('of another version or kind are refused with what to do', () => {
    const path = join(dir, 'other.json');
    for (const more of [{ version: 0 }, { kind: 'peers' }]) {
      writeFileSync(path, JSON.stringify({ ...resultsOf([]), ...more }));
      assert.throws(() => readResults(path), /make it again with npm run bench/);
    }
  });
});

suite('the table', () => {
  test('shows floor, figure, ratio, target and verdict, and counts the verdicts', () => {
    const met = targeted({ subject: 'ratio', bound: 'at least', limit: 0.8 });
    const missed = targeted({ subject: 'value', bound: 'at most', limit: 10 }, { name: 'delay', unit: 'ms' });
    const text = resultsText(resultsOf([met, missed]));
    assert.match(text, /burst +rate +100\/s +80\.0\/s +0\.80x +>= 0\.80x +met\n/);
    assert.match(text, /delay +100 ms +80\.0 ms +0\.80x +<= 10\.0 ms +missed\n/);
    assert.match(text, /1 of 2 targets met, 1 missed/);
  });

  test('names workloads that failed, and quick runs', () => {
    const failed = { name: 'scan', what: 'reads', floor: 'reads', figures: [], failure: 'no room', seconds: 1 };
    const text = resultsText(resultsOf([], { workloads: [failed], quick: true }));
    assert.match(text, /scan failed: no room/);
    assert.match(text, /its figures say nothing/);
  });
});
