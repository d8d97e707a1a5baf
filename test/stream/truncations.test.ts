import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Truncations } from '../../src/stream/truncations.ts';

test('the lowest cut behind a number of truncations, or an epoch, is the least offset that those went on at', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 30 }), (offsets) => {
      const truncations = new Truncations();
      offsets.forEach((nextOffset, index) => {
        truncations.add(1, { nextOffset, epoch: 2 * index + 1 });
      });
      for (let since = 0; since <= offsets.length + 1; since += 1) {
        const lowest = Math.min(Infinity, ...offsets.slice(since));
        assert.deepEqual(truncations.since(1, since), { count: offsets.length, lowest });
        assert.equal(truncations.voidFrom(1, 2 * since), lowest);
        assert.equal(truncations.voidFrom(1, 2 * since - 1), lowest);
      }
      assert.deepEqual(truncations.since(2, 0), { count: 0, lowest: Infinity });
      assert.equal(truncations.voidFrom(2, -1), Infinity);
      assert.equal(truncations.since(1, Infinity).lowest, Infinity);
      truncations.drop(1);
      assert.deepEqual(truncations.since(1, 0), { count: 0, lowest: Infinity });
      assert.equal(truncations.voidFrom(1, -1), Infinity);
    }),
  );
});
