import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkReference } from '../../src/stream/reference.ts';
import { arbitraryReference } from '../support/tracking.ts';
import { coded } from '../support/test-store.ts';

const refused = coded('ERR_MILLRACE_INVALID_REFERENCE');

test('any text of 1 to 255 bytes without control characters is a reference', () => {
  fc.assert(
    fc.property(
      arbitraryReference.filter((text) => !/\p{Cc}/u.test(text)),
      (text) => checkReference(text),
    ),
  );
  checkReference('x'.repeat(255));
  checkReference('\u00e9'.repeat(127) + 'x');
});

test('longer, empty, broken and other things are not', () => {
  for (const reference of [
    '',
    'x'.repeat(256),
    '\u00e9'.repeat(128),
    'x\ud800',
    '\udc00',
    7,
    null,
    undefined,
    {},
    ['a'],
  ]) {
    assert.throws(() => checkReference(reference), refused);
  }
});

test('every control character is refused, wherever it stands', () => {
  const controls = [
    ...Array.from({ length: 32 }, (_, code) => code),
    ...Array.from({ length: 33 }, (_, code) => 127 + code),
  ];
  for (const code of controls) {
    const control = String.fromCharCode(code);
    for (const reference of [control, `a${control}`, `${control}a`, `a${control}b`]) {
      assert.throws(() => checkReference(reference), refused);
    }
  }
  checkReference('\u00a0');
});

test('a reference that is refused because of its length is told how long it is', () => {
  assert.throws(() => checkReference('\u00e9'.repeat(200)), coded('ERR_MILLRACE_INVALID_REFERENCE', '400', '255'));
});
