import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PRICES_DEFAULT, requestCost } from '../../../bench/sim/prices.ts';
import { rewriteRequests, scanRequests, writeRequests } from '../../../bench/sim/requests.ts';
import { survivors } from '../../../bench/sim/rewrite-model.ts';
import { parsePrices, parseSimOptions } from '../../../bench/sim/options.ts';
import { MIX, makeStreams, WORKLOAD_DEFAULT } from '../../../bench/sim/workload.ts';
import { DeadlineWatch } from '../../../bench/sim/deadlines.ts';
import type { LayoutRun } from '../../../src/compaction/layout.ts';
import { MIB } from '../../../src/limits/limits.ts';
import { PART_BYTES_DEFAULT } from '../../../src/object/s3/options.ts';

/** Requests of a job over so many inputs with runs like these. */
function readsOf(inputs: number, runs: number, byteLength: number): number {
  const keys = Array.from({ length: inputs }, (_, index) => `input-${index}`);
  const runAt = (index: number): LayoutRun => ({
    streamId: index + 1,
    firstOffset: 0,
    nextOffset: inputs,
    visibleFrom: 0,
    compression: 'none',
    snapshot: false,
    keys: 'all',
    parents: keys.map((objectKey, input) => ({
      objectKey,
      byteOffset: 64 + index * byteLength,
      byteLength,
      chunks: 1,
      records: 1,
      firstOffset: input,
      nextOffset: input + 1,
      endOffset: input + 1,
      tracking: false,
    })),
  });
  const layout = { outputs: [{ generation: 1, runs: Array.from({ length: runs }, (_, index) => runAt(index)) }] };
  const bytes = 128 + runs * byteLength;
  return rewriteRequests(
    { ...layout, dropped: [] },
    keys.map((key) => ({ key, bytes })),
    64 * MIB,
  ).reads.gets;
}

suite('the cost model', () => {
  test('prices requests by the thousand', () => {
    const dollars = requestCost({ puts: 2_000, gets: 10_000, deletes: 5 }, PRICES_DEFAULT);
    assert.equal(dollars.toFixed(6), (2 * 0.005 + 10 * 0.0004).toFixed(6));
  });

  test('writes an object of two parts with one request, and one byte more in parts', () => {
    assert.deepEqual(writeRequests(2 * PART_BYTES_DEFAULT), { puts: 1, gets: 0, deletes: 0 });
    assert.deepEqual(writeRequests(2 * PART_BYTES_DEFAULT + 1), { puts: 5, gets: 2, deletes: 0 });
    assert.equal(writeRequests(10 * PART_BYTES_DEFAULT).puts, 1 + 10 + 1);
  });

  test('reads inputs in one request each, whatever their size, and asks for their tails', () => {
    assert.equal(readsOf(4, 80, 10_000), 8);
    assert.equal(readsOf(32, 800, 10_000), 64);
    assert.equal(readsOf(2, 1, 40 * MIB), 4);
  });

  test('scans neighbours in one object together, and each object by itself', () => {
    const near = { objectKey: 'a', byteLength: MIB };
    assert.equal(scanRequests([near, near, near]), 1);
    assert.equal(scanRequests([near, { ...near, objectKey: 'b' }, near]), 3);
    assert.equal(scanRequests([{ ...near, byteLength: 20 * MIB }]), 3);
    assert.equal(scanRequests([]), 0);
  });
});

suite('superseded keys', () => {
  test('leave as many records as there are keys of a long stream', () => {
    assert.ok(Math.abs(survivors(0, 100_000, 100_000, 1_000) - 1_000) < 1);
  });

  test('leave nearly all of a stream that is short against its keys', () => {
    assert.ok(survivors(0, 100, 100, 1_000_000) > 99.9);
  });

  test('leave the same in two parts as in one', () => {
    const whole = survivors(0, 9_000, 9_000, 5_000);
    assert.ok(Math.abs(survivors(0, 4_000, 9_000, 5_000) + survivors(4_000, 9_000, 9_000, 5_000) - whole) < 1e-6);
    assert.equal(survivors(5, 5, 9, 10), 0);
  });
});

suite('the streams of a writer', () => {
  test('take all of its bytes, larger ones first, and each part of the mix its share', () => {
    const streams = makeStreams(WORKLOAD_DEFAULT);
    assert.equal(streams.length, 313);
    assert.ok(Math.abs(streams.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
    for (const [index, { share }] of streams.entries()) {
      assert.ok(index === 0 || share <= streams[index - 1]!.share * (1 + 1e-9));
    }
    for (const { name, share } of MIX) {
      const given = streams.filter(({ part }) => part === name).reduce((sum, stream) => sum + stream.share, 0);
      assert.ok(Math.abs(given - share) < 0.05, `${name} has ${given}`);
    }
  });

  test('add up to the whole mix', () => {
    assert.ok(Math.abs(MIX.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-9);
  });
});

const runs = (...keys: string[]): { objectKey: string; streamId: number }[] =>
  keys.map((objectKey) => ({ objectKey, streamId: 1 }));

suite('the watch over deadlines', () => {
  test('counts an object that goes in time, one that goes late, and one that never went', () => {
    const watch = new DeadlineWatch();
    watch.died(runs('a', 'b', 'c'), 100, 50);
    watch.gone(['a'], 149);
    watch.gone(['b', 'unknown'], 151);
    watch.close(200);
    assert.deepEqual([watch.met, watch.missed, watch.worstLateness], [1, 2, 50]);
  });

  test('passes on to the outputs what died while a job copied it, and nothing older', () => {
    const watch = new DeadlineWatch();
    watch.died(runs('old'), 100, 50);
    const claim = watch.claimed();
    watch.died(runs('new'), 100, 50);
    const outputs = [
      { key: 'output', runs: [{ streamId: 1 }] },
      { key: 'of others', runs: [{ streamId: 2 }] },
    ];
    watch.replaced(['old', 'new'], outputs, claim);
    watch.gone(['old', 'new'], 130);
    watch.gone(['output', 'of others'], 160);
    assert.deepEqual([watch.met, watch.missed, watch.worstLateness], [2, 1, 10]);
  });
});

suite('the command line of the simulation', () => {
  test('takes prices by name and refuses others', () => {
    assert.deepEqual(parsePrices('put=0.01,storage=0'), { ...PRICES_DEFAULT, put: 0.01, storage: 0 });
    assert.throws(() => parsePrices('copy=1'), /--price knows put/);
    assert.throws(() => parsePrices('put=much'), /--price takes a number/);
  });

  test('refuses what is not a count', () => {
    assert.throws(() => parseSimOptions(['--days', '0']), /--days takes a whole number/);
    assert.throws(() => parseSimOptions(['--rate', 'fast']), /--rate takes a number/);
  });
});
