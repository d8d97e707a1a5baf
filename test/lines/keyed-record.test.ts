import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyedRecord } from '../../src/lines/keyed-record.ts';

function keyIn(json: string | Buffer): unknown {
  return keyedRecord(Buffer.from(json), 'id', 7).key;
}

test('a key is what the field says: text as it is, safe numbers, fractions and booleans as text', () => {
  const keys = ['"7"', '7', '-9007199254740991', '1.5', '1e2', '0.10', '-0', 'true', '"\\ud83d\\ude00"'].map((id) =>
    keyIn(`{"id":${id}}`),
  );
  assert.deepEqual(keys, ['7', '7', '-9007199254740991', '1.5', '100', '0.1', '0', 'true', '😀']);
});

for (const [what, ids] of [
  ['numbers that reading JSON would round', ['9007199254740992', '9007199254740993', '1234567890123456789']],
  ['fractions that reading JSON would round', ['0.12345678901234567', '1.0000000000000000001', '9007199254740991.2']],
  ['numbers that reading JSON would make zero or round near it', ['1e-400', '4e-324']],
  ['numbers that reading JSON would make infinite', ['1e400', '-1e400']],
  ['halves of surrogate pairs', ['"\\ud800"', '"a\\udc01"']],
] as const) {
  test(`${what} are refused as keys: two of them would be one`, () => {
    for (const id of ids) {
      assert.throws(() => keyIn(`{"id":${id}}`), {
        code: 'ERR_MILLRACE_INVALID_ARGUMENT',
        message: /line 7: field "id"/,
      });
    }
  });
}

test('bytes that are no UTF-8 are refused: they would all be the same character', () => {
  const line = Buffer.concat([Buffer.from('{"id":"'), Buffer.of(0xff), Buffer.from('"}')]);
  assert.throws(() => keyIn(line), { code: 'ERR_MILLRACE_INVALID_ARGUMENT', message: /line 7: it is not UTF-8/ });
});
