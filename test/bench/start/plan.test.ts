import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { CorpusStream } from '../../../bench/start/corpus.ts';
import { Expectation } from '../../../bench/start/expectation.ts';
import { Plan } from '../../../bench/start/plan.ts';
import { RecordDigest } from '../../../bench/start/record-digest.ts';
import { loadChecksum } from '../../../src/codec/checksum.ts';

await loadChecksum();

function corpusOf(name: string, values: readonly string[]): CorpusStream {
  const records = values.map((value) => Buffer.from(value));
  return { name, records, bytes: records.reduce((sum, { length }) => sum + length, 0) };
}

const CORPUS = [corpusOf('short', ['a', 'bc']), corpusOf('long', ['x'.repeat(1_000), 'y', 'z'.repeat(100_000)])];

suite('benchmark plan', () => {
  test('steps cover every record of every stream once, in order', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000_000 }), (bytes) => {
        const plan = new Plan(CORPUS, bytes);
        assert.ok(plan.totalBytes >= bytes);
        const positions = CORPUS.map(() => 0);
        for (let steps = 0; ; steps += 1) {
          const step = plan.next(positions, steps);
          if (step === undefined) break;
          assert.equal(step.first, positions[step.stream]);
          assert.ok(step.count > 0);
          positions[step.stream] = step.first + step.count;
        }
        assert.deepEqual(positions, plan.totals);
      }),
      { numRuns: 30 },
    );
  });

  test('goes on from wherever the streams stand', () => {
    const plan = new Plan(CORPUS, 1_000_000);
    assert.equal(plan.next(plan.totals, 0), undefined);
    const [, second = 0] = plan.totals;
    const step = plan.next([plan.totals[0] ?? 0, second - 1], 0);
    assert.deepEqual(step, { stream: 1, first: second - 1, count: 1, singly: false });
  });
});

suite('benchmark expectation', () => {
  test('acknowledgements in any order come to the digest of the records in order', () => {
    const plan = new Plan(CORPUS, 400_000);
    const [, total = 0] = plan.totals;
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: total - 1 }), { maxLength: 6 });
    fc.assert(
      fc.property(cuts, fc.infiniteStream(fc.nat()), (inner, order) => {
        const bounds = [0, ...inner.sort((left, right) => left - right), total];
        const ranges = bounds.slice(1).map((next, index) => ({ first: bounds[index] ?? 0, next }));
        const expectation = new Expectation(plan);
        while (ranges.length > 0) {
          const [range] = ranges.splice((order.next().value ?? 0) % ranges.length, 1);
          if (range !== undefined) expectation.acknowledge(1, range.first, range.next);
        }
        const digest = new RecordDigest();
        for (let index = 0; index < total; index += 1) digest.add(plan.timestamp(index), plan.value(1, index));
        assert.equal(expectation.records(1), total);
        assert.equal(expectation.hash(1), digest.value());
      }),
      { numRuns: 30 },
    );
  });

  test('a range behind a gap does not count', () => {
    const expectation = new Expectation(new Plan(CORPUS, 400_000));
    expectation.acknowledge(0, 5, 9);
    assert.equal(expectation.records(0), 0);
    expectation.acknowledge(0, 0, 5);
    assert.equal(expectation.records(0), 9);
  });

  test('a digest tells apart what differs in a byte, in order, in a timestamp, or in where records are cut', () => {
    const digestOf = (...records: readonly (readonly [number, string])[]): bigint => {
      const digest = new RecordDigest();
      for (const [timestamp, value] of records) digest.add(timestamp, Buffer.from(value));
      return digest.value();
    };
    const digests = [
      digestOf([1, 'ab'], [2, 'c']),
      digestOf([1, 'ab'], [2, 'd']),
      digestOf([2, 'c'], [1, 'ab']),
      digestOf([1, 'ab'], [3, 'c']),
      digestOf([1, 'a'], [2, 'bc']),
      digestOf([1, 'ab']),
    ];
    assert.equal(new Set(digests).size, digests.length);
  });
});
