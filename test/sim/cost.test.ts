import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PRICES_DEFAULT, requestCost } from '../../bench/sim/prices.ts';
import { inputRequests, PART_BYTES, scanRequests, writeRequests } from '../../bench/sim/requests.ts';
import { survivors } from '../../bench/sim/rewrite-model.ts';
import { parsePrices, parseSimOptions } from '../../bench/sim/options.ts';
import { MIX, makeStreams, WORKLOAD_DEFAULT } from '../../bench/sim/workload.ts';
import { DeadlineWatch } from '../../bench/sim/deadlines.ts';
import { MIB } from '../../src/limits/limits.ts';

suite('the cost model', () => {
  test('prices requests by the thousand', () => {
    const dollars = requestCost({ puts: 2_000, gets: 10_000, deletes: 5 }, PRICES_DEFAULT);
    assert.equal(dollars.toFixed(6), (2 * 0.005 + 10 * 0.0004).toFixed(6));
  });

  test('writes an object of one part with one request, and one byte more in parts', () => {
    assert.deepEqual(writeRequests(PART_BYTES), { puts: 1, gets: 0, deletes: 0 });
    assert.deepEqual(writeRequests(PART_BYTES + 1), { puts: 4, gets: 2, deletes: 0 });
    assert.equal(writeRequests(100 * MIB).puts, 15);
  });

  test('reads small runs through windows, which more inputs make smaller', () => {
    const runs = Array.from({ length: 800 }, (_, index) => ({ position: index * 10_000, length: 10_000 }));
    const few = inputRequests(runs, 4).gets;
    const many = inputRequests(runs, 32).gets;
    assert.ok(few < 15, `${few} requests`);
    assert.ok(many > 3 * few, `${many} requests`);
  });

  test('reads a large run by itself, four MiB at a time', () => {
    assert.equal(inputRequests([{ position: 64, length: 40 * MIB }], 4).gets, 2 + 10);
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
