import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { indexOfKey, keyBuffer } from '../../../bench/peers/peer.ts';
import { recordGroups, recordPool } from '../../../src/cli/load/records.ts';

suite('records', () => {
  for (const bytes of [100, 1_024, 16_384]) {
    test(`of ${bytes} bytes are JSON of exactly that size, as many as a power of two`, () => {
      const pool = recordPool(bytes);
      assert.equal(Math.log2(pool.length) % 1, 0);
      for (const record of pool) {
        assert.equal(record.length, bytes);
        assert.equal(typeof JSON.parse(String(record)), 'object');
      }
      assert.equal(new Set(pool.map(String)).size, pool.length);
    });
  }

  test('are the same in every run', () => {
    assert.deepEqual(recordPool(100), recordPool(100));
  });

  test('come in groups that go through the pool in order', () => {
    const pool = recordPool(16_384);
    const groups = recordGroups(pool, 64);
    assert.deepEqual(groups.flat(), pool);
  });

  test('too short for their fields are refused', () => {
    assert.throws(() => recordPool(20), RangeError);
  });
});

suite('keys of peers', () => {
  test('sort as stream and index do', () => {
    const place = fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 0, max: 2 ** 48 - 1 }));
    fc.assert(
      fc.property(place, place, (left, right) => {
        const expected = Math.sign(left[0] - right[0]) || Math.sign(left[1] - right[1]);
        assert.equal(Buffer.compare(keyBuffer(...left), keyBuffer(...right)), expected);
        assert.equal(indexOfKey(keyBuffer(...left)), left[1]);
      }),
    );
  });
});
