import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DeletePace } from '../../../src/object/s3/deletion.ts';

test('the pace stays between ten and a thousand keys, whatever the answers are', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 100 }), (answers) => {
      const pace = new DeletePace();
      for (const isGood of answers) {
        const before = pace.batchKeys;
        if (isGood) pace.faster();
        else pace.slower();
        assert.ok(pace.batchKeys >= 10 && pace.batchKeys <= 1000);
        assert.ok(isGood ? pace.batchKeys >= before : pace.batchKeys <= before);
      }
    }),
  );
});

test('it halves when throttled and comes back in steps', () => {
  const pace = new DeletePace();
  pace.slower();
  assert.equal(pace.batchKeys, 500);
  pace.slower();
  pace.faster();
  assert.equal(pace.batchKeys, 350);
});
