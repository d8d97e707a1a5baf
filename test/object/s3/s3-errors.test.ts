import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MillraceError } from '../../../src/errors/millrace-error.ts';
import { errorName, s3Error, statusOf } from '../../../src/object/s3/s3-errors.ts';

const REQUEST = { operation: 'GetObject', key: 'k', place: 'bucket b of AWS', secrets: ['hunter2'] };

function remote(name: string, httpStatusCode?: number): Error {
  return Object.assign(new Error('words'), { name, $metadata: { httpStatusCode, requestId: 'r-1' } });
}

test('names and statuses mean what S3 means by them', () => {
  const expected = [
    ['NoSuchKey', 404, 'ERR_MILLRACE_OBJECT_NOT_FOUND'],
    ['NotFound', 404, 'ERR_MILLRACE_OBJECT_NOT_FOUND'],
    ['NoSuchBucket', 404, 'ERR_MILLRACE_REFUSED'],
    ['NoSuchUpload', 404, 'ERR_MILLRACE_WRITE_FAILED'],
    ['PreconditionFailed', 412, 'ERR_MILLRACE_OBJECT_EXISTS'],
    ['Odd', 412, 'ERR_MILLRACE_OBJECT_EXISTS'],
    ['AccessDenied', 403, 'ERR_MILLRACE_REFUSED'],
    ['InvalidAccessKeyId', 403, 'ERR_MILLRACE_REFUSED'],
    ['RequestTimeTooSkewed', 403, 'ERR_MILLRACE_REFUSED'],
    ['PermanentRedirect', 301, 'ERR_MILLRACE_REFUSED'],
    ['InvalidRequest', 400, 'ERR_MILLRACE_REFUSED'],
    ['CredentialsProviderError', undefined, 'ERR_MILLRACE_REFUSED'],
    ['BadDigest', 400, 'ERR_MILLRACE_UNAVAILABLE'],
    ['RequestTimeout', 400, 'ERR_MILLRACE_UNAVAILABLE'],
    ['ConditionalRequestConflict', 409, 'ERR_MILLRACE_UNAVAILABLE'],
    ['SlowDown', 503, 'ERR_MILLRACE_UNAVAILABLE'],
    ['Odd', 429, 'ERR_MILLRACE_UNAVAILABLE'],
    ['Odd', 500, 'ERR_MILLRACE_UNAVAILABLE'],
    ['InternalError', 200, 'ERR_MILLRACE_UNAVAILABLE'],
    ['TimeoutError', undefined, 'ERR_MILLRACE_UNAVAILABLE'],
    ['NotImplemented', 501, 'ERR_MILLRACE_UNSUPPORTED'],
  ] as const;
  for (const [name, status, code] of expected) assert.equal(s3Error(remote(name, status), REQUEST).code, code, name);
});

test('an error names the operation, the key, the place and the answer', () => {
  const error = s3Error(remote('AccessDenied', 403), REQUEST);
  assert.match(error.message, /GetObject of k at bucket b of AWS failed: AccessDenied, HTTP 403/);
  assert.deepEqual(error.details, {
    operation: 'GetObject',
    reason: 'AccessDenied',
    key: 'k',
    status: 403,
    requestId: 'r-1',
  });
});

test('an error without an answer carries the name of the system', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  assert.equal(errorName(refused), 'ECONNREFUSED');
  assert.equal(s3Error(refused, REQUEST).code, 'ERR_MILLRACE_UNAVAILABLE');
  assert.equal(statusOf(refused), undefined);
});

test('coded errors pass unchanged, and anything at all may have been thrown', () => {
  const coded = new MillraceError('ERR_MILLRACE_ABORTED', 'stop');
  assert.equal(s3Error(coded, REQUEST), coded);
  for (const thrown of [undefined, null, 5, 'text', {}, { name: 7, $metadata: 'no' }, { name: '<script>' }]) {
    assert.equal(s3Error(thrown, REQUEST).code, 'ERR_MILLRACE_UNAVAILABLE');
  }
});

test('secrets are cut out of the cause, and unknown fields are left behind', () => {
  const thrown = Object.assign(new Error('the secret hunter2 is wrong'), { StringToSign: 'hunter2' });
  const { cause } = s3Error(thrown, REQUEST);
  assert.ok(cause instanceof Error);
  assert.equal(cause.message, 'the secret [redacted] is wrong');
  assert.equal('StringToSign' in cause, false);
});
