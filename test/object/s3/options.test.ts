import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { MIB } from '../../../src/limits/limits.ts';
import { checkS3Options, planParts } from '../../../src/object/s3/options.ts';
import { s3 } from '../../../src/s3/index.ts';
import { withCode } from '../../../src/testing/object-store-contract.ts';

const CREDENTIALS = { accessKeyId: 'id', secretAccessKey: 'hunter2', sessionToken: 'token3' };

test('options of every kind of server pass', () => {
  const servers = [
    { bucket: 'my-bucket' },
    { bucket: 'my.bucket', prefix: 'a/b_c/', region: 'eu-central-1' },
    { bucket: 'abc', endpoint: 'http://127.0.0.1:9000', credentials: CREDENTIALS, forcePathStyle: true },
    { bucket: 'abc', endpoint: 'https://account.example.com/base', conditionalWrites: false, parallelParts: 64 },
    { bucket: 'abc', partBytes: 5 * 1024 * 1024, requestTimeout: 100, attempts: 1 },
  ];
  for (const options of servers) assert.equal(checkS3Options(options), options);
});

test('options that make no bucket are refused by name, and no value is repeated', () => {
  const wrong: readonly [string, object][] = [
    ['bucket', {}],
    ['bucket', { bucket: 'a b' }],
    ['bucket', { bucket: 12345 }],
    ['prefix', { bucket: 'abc', prefix: 'no-slash' }],
    ['prefix', { bucket: 'abc', prefix: '/a/' }],
    ['prefix', { bucket: 'abc', prefix: `${'a'.repeat(1000)}/` }],
    ['endpoint', { bucket: 'abc', endpoint: 'ftp://host' }],
    ['endpoint', { bucket: 'abc', endpoint: 'https://user:hunter2@host' }],
    ['endpoint', { bucket: 'abc', endpoint: 'https://host?key=hunter2' }],
    ['endpoint', { bucket: 'abc', endpoint: 'hunter2' }],
    ['region', { bucket: 'abc', region: 'hunter2 hunter2' }],
    ['region', { bucket: 'abc', region: 5 }],
    ['endpoint', { bucket: 'abc', endpoint: null }],
    ['credentials', { bucket: 'abc', credentials: { accessKeyId: 'hunter2' } }],
    ['credentials', { bucket: 'abc', credentials: { ...CREDENTIALS, secretAccessKey: '' } }],
    ['forcePathStyle', { bucket: 'abc', forcePathStyle: 'yes' }],
    ['conditionalWrites', { bucket: 'abc', conditionalWrites: 1 }],
    ['partBytes', { bucket: 'abc', partBytes: 5 * 1024 * 1024 - 1 }],
    ['parallelParts', { bucket: 'abc', parallelParts: 0 }],
    ['requestTimeout', { bucket: 'abc', requestTimeout: 1 }],
    ['attempts', { bucket: 'abc', attempts: 1.5 }],
    ['secretAccessKey', { bucket: 'abc', secretAccessKey: 'hunter2' }],
  ];
  for (const [name, options] of wrong) {
    assert.throws(
      () => checkS3Options(options),
      (error: Error) => {
        assert.match(error.message, new RegExp(name));
        assert.doesNotMatch(error.message, /hunter2/);
        return withCode('ERR_MILLRACE_INVALID_ARGUMENT')(error);
      },
    );
  }
  for (const options of [undefined, null, 'bucket']) {
    assert.throws(() => checkS3Options(options), withCode('ERR_MILLRACE_INVALID_ARGUMENT'));
  }
});

test('a described bucket shows itself without its credentials', () => {
  const component = s3({ bucket: 'my-bucket', credentials: CREDENTIALS });
  const shown = `${inspect(component, { depth: 9 })} ${JSON.stringify(component)} ${JSON.stringify({ ...component })}`;
  assert.match(shown, /my-bucket/);
  assert.doesNotMatch(shown, /hunter2|token3/);
});

test('a description is a copy that crosses threads: changing the options later changes nothing', () => {
  const options = { bucket: 'my-bucket', credentials: { ...CREDENTIALS } };
  const { descriptor } = s3(options);
  options.bucket = 'other';
  options.credentials.secretAccessKey = 'changed';
  const received = structuredClone(descriptor);
  assert.deepEqual(received.options, { bucket: 'my-bucket', credentials: CREDENTIALS });
  assert.equal(received.module, 'millrace:s3');
});

test('options are checked where they are given, before anything is opened', () => {
  assert.throws(() => s3({ bucket: '' }), withCode('ERR_MILLRACE_INVALID_ARGUMENT'));
});

test('with little memory parts become fewer at once, then smaller, and never smaller than S3 takes them', () => {
  const plan = (memory?: number): number[] => {
    const { partBytes, parallelParts, singleBytes } = planParts({}, memory);
    return [partBytes / MIB, parallelParts, singleBytes / MIB];
  };
  assert.deepEqual(plan(), [16, 2, 32]);
  assert.deepEqual(plan(48 * MIB), [16, 2, 32]);
  assert.deepEqual(plan(30 * MIB), [15, 1, 15]);
  assert.deepEqual(plan(15 * MIB), [7.5, 1, 7.5]);
  assert.deepEqual(plan(12 * MIB), [6, 1, 6]);
  assert.deepEqual(plan(9 * MIB), [9, 0, 9]);
  assert.deepEqual(plan(5 * MIB), [5, 0, 5]);
  assert.deepEqual(plan(0), [5, 0, 5]);
  for (let memory = 5; memory < 60; memory += 1) {
    const [partBytes = 0, parallelParts = 0] = plan(memory * MIB);
    assert.ok(partBytes * (parallelParts + 1) <= memory, `${memory} MiB`);
  }
  const { partBytes, singleBytes } = planParts({}, 9 * MIB, 100_000);
  assert.deepEqual([partBytes / MIB, singleBytes / MIB], [5, 5], 'a size is an estimate');
  for (const size of [5, 16, 32, 33, 64, 500]) {
    const { singleBytes } = planParts({ partBytes: 5 * MIB }, 600 * MIB, size * MIB);
    assert.ok(singleBytes <= 32 * MIB, `a request of ${singleBytes} bytes takes longer than a request may`);
    assert.equal(size * MIB <= singleBytes, size <= 32);
  }
  assert.equal(planParts({ partBytes: 40 * MIB }, 600 * MIB, 70 * MIB).singleBytes, 70 * MIB);
  const small = planParts({ partBytes: 5 * MIB, parallelParts: 8 }, 20 * MIB);
  assert.deepEqual([small.partBytes / MIB, small.parallelParts, small.singleBytes / MIB], [5, 3, 10]);
});
