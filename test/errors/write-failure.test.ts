import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AssertionError } from '../../src/base/assert.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { shortWrite, writeFailure } from '../../src/errors/write-failure.ts';
import { systemError } from '../../src/testing/disk/calls.ts';

test('a failed write names its file, and tells a full disk from a broken one', () => {
  for (const [code, expected] of [
    ['ENOSPC', 'ERR_MILLRACE_DISK_FULL'],
    ['EDQUOT', 'ERR_MILLRACE_DISK_FULL'],
    ['EIO', 'ERR_MILLRACE_WRITE_FAILED'],
  ] as const) {
    const cause = systemError(code);
    const failure = writeFailure('/a/file', cause);
    assert.ok(isMillraceError(failure, expected), code);
    assert.deepEqual(failure.details, { file: '/a/file' });
    assert.equal(failure.cause, cause);
  }
});

test('a write that took too little is a full disk', () => {
  const failure = shortWrite('/a/file', 5, 8, 64);
  assert.equal(failure.code, 'ERR_MILLRACE_DISK_FULL');
  assert.deepEqual(failure.details, { file: '/a/file', position: 64, written: 5, length: 8 });
});

test('an error with a code keeps it, and a broken invariant is not taken for a broken disk', () => {
  for (const error of [shortWrite('/a/file', 5, 8, 64), new AssertionError('a bug')]) {
    assert.equal(writeFailure('/another', error), error);
  }
});
