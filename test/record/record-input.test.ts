import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { KEY_BYTES_MAX } from '../../src/limits/limits.ts';
import { checkRecord, checkTimestamp, isBareValue, keyBytes, valueRoom } from '../../src/record/record-input.ts';

const INVALID = { code: 'ERR_MILLRACE_INVALID_ARGUMENT' };
const TOO_LARGE = { code: 'ERR_MILLRACE_RECORD_TOO_LARGE' };

describe('the value of a record', () => {
  it('needs no more room than was asked for, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.integer({ min: 1, max: 100 }), (text, times) => {
        const value = text.repeat(times);
        assert.ok(Buffer.byteLength(value) <= valueRoom(value));
      }),
    );
    assert.equal(valueRoom(null), 0);
    assert.equal(valueRoom(Buffer.alloc(77)), 77);
    assert.equal(valueRoom('é'.repeat(4096)), 8192);
  });

  it('counts its UTF-8 bytes toward the largest record, and those of its key', () => {
    checkRecord('\u{1f600}', 0, 4);
    checkRecord('\u{1f600}', 6, 10);
    checkRecord(null, 10, 10);
    checkRecord(Buffer.alloc(9), 1, 10);
    assert.throws(() => checkRecord('\u{1f600}', 0, 3), TOO_LARGE);
    assert.throws(() => checkRecord('\u{1f600}', 7, 10), TOO_LARGE);
    assert.throws(() => checkRecord(null, 11, 10), TOO_LARGE);
    assert.throws(
      () => checkRecord(Buffer.alloc(9), 2, 10),
      (error) => isMillraceError(error) && error.details['bytes'] === 11 && error.details['maxRecordBytes'] === 10,
    );
  });

  it('is text, bytes or null', () => {
    for (const value of [undefined, 5, true, {}, [], new ArrayBuffer(4), new Uint16Array(2)]) {
      assert.throws(() => checkRecord(value, 0, 100), INVALID);
    }
    for (const value of ['', 'text', null, Buffer.alloc(3), new Uint8Array(0)]) {
      checkRecord(value, 0, 100);
      assert.equal(isBareValue(value), true);
    }
    assert.equal(isBareValue({ value: 'x' }), false);
  });
});

describe('the key of a record', () => {
  it('is text or bytes of at most 64 KiB, or absent', () => {
    assert.equal(keyBytes(null), null);
    assert.equal(keyBytes(undefined), null);
    assert.deepEqual(keyBytes('é'), Buffer.from([0xc3, 0xa9]));
    assert.equal(keyBytes(new Uint8Array(KEY_BYTES_MAX))?.length, KEY_BYTES_MAX);
    assert.throws(() => keyBytes(new Uint8Array(KEY_BYTES_MAX + 1)), TOO_LARGE);
    assert.throws(() => keyBytes(5 as never), INVALID);
    assert.throws(() => keyBytes({} as never), INVALID);
  });
});

describe('the timestamp of a record', () => {
  it('is a whole number of milliseconds', () => {
    for (const timestamp of [0, -1, Date.UTC(2026, 0), Number.MAX_SAFE_INTEGER]) checkTimestamp(timestamp);
    for (const timestamp of [NaN, Infinity, 0.5, 2 ** 53, '5', null, undefined, new Date(0)]) {
      assert.throws(() => checkTimestamp(timestamp as number), INVALID);
    }
  });
});
