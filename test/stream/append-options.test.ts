import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { checkAppendOptions, checkRecord } from '../../src/record/record-input.ts';
import { configOf } from '../../src/stream/stream-options.ts';

const isInvalid = (message: RegExp) => (error: unknown) =>
  isMillraceError(error, 'ERR_MILLRACE_INVALID_ARGUMENT') && message.test(error.message);

test('a misspelt append option is refused, so that no key is lost in silence', () => {
  assert.throws(
    () => {
      checkAppendOptions({ keey: 'k' } as never);
    },
    isInvalid(/append has no option keey: it has key, timestamp/),
  );
  for (const wrong of ['key', null, 5]) {
    assert.throws(
      () => {
        checkAppendOptions(wrong as never);
      },
      isInvalid(/options of an append are an object/),
    );
  }
  checkAppendOptions({ key: 'k', timestamp: 5 });
  checkAppendOptions(undefined);
});

test('a value of the wrong type is named, with the call that takes it', () => {
  const refused = (value: unknown): (() => void) => {
    return () => {
      checkRecord(value, 0, 100);
    };
  };
  assert.throws(refused({ value: 'v' }), isInvalid(/append\(value, \{ key, timestamp \}\)/));
  assert.throws(refused(['a']), isInvalid(/appendMany/));
  assert.throws(refused(5), isInvalid(/number \(5\)/));
});

test('a deletion deadline is switched off with null, and kept when it is left out', () => {
  const set = configOf({ deletionDeadline: 5_000 });
  assert.equal(configOf({}, set).deletionDeadline, 5_000);
  assert.equal(configOf({ deletionDeadline: null }, set).deletionDeadline, undefined);
});
