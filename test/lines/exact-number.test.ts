import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isExactNumber } from '../../src/lines/exact-number.ts';

/** As JSON may write it. */
const numbers = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.bigInt({ min: 0n, max: 10n ** 20n }),
    fc.option(fc.stringMatching(/^\d{1,20}$/), { nil: undefined }),
    fc.option(fc.integer({ min: -330, max: 310 }), { nil: undefined }),
  )
  .map(([sign, whole, fraction, exponent]) => {
    const mantissa = `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}`;
    return exponent === undefined ? mantissa : `${mantissa}e${exponent}`;
  });

test('two numbers that are taken for exact and read as one say the same', () => {
  fc.assert(
    fc.property(numbers, fc.integer({ min: 1, max: 9 }), (text, digit) => {
      // One that differs in its last digit.
      const [mantissa = '', exponent] = text.split('e');
      const longer = `${mantissa}${mantissa.includes('.') ? '' : '.'}${digit}`;
      const other = exponent === undefined ? longer : `${longer}e${exponent}`;
      if (Number(text) !== Number(other)) return;
      const exact = [text, other].filter((one) => isExactNumber(Number(one), `{"id":${one}}`));
      assert.ok(exact.length < 2, `${text} and ${other}`);
    }),
  );
});

test('what is written out of a number is exact', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      assert.ok(isExactNumber(value, JSON.stringify({ id: value })), String(value));
    }),
  );
});

test('digits in strings and other numbers do not matter', () => {
  const line = '{"id":7,"at":0.12345678901234567,"text":"\\"7.00000000000000000001","big":12345678901234567890}';
  assert.ok(isExactNumber(7, line));
});
