import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { PART_BYTES_MIN } from '../../../src/object/s3/options.ts';
import { describeS3Store, S3ObjectStore } from '../../../src/object/s3/s3-object-store.ts';
import { patternBytes, putObject, withCode } from '../../../src/testing/object-store-contract.ts';
import type { S3Server } from '../../support/ceph-server.ts';
import { until } from '../../support/child-processes.ts';
import { BUCKET, freshOptions, freshStore, impatient, keysIn, largeBytes, rawClient } from './s3-fixture.ts';

/** Later than anything that is running, whatever the server's clock says of fractions. */
const THE_FUTURE = Date.now() + 86_400_000;

export function s3WritingSuite(server: () => S3Server): void {
  describe('writing to S3', () => {
    partTests(server);
    memoryTests(server);
    unfinishedUploadTests(server);
    keyTests(server);
    threadTests(server);
  });
}

function partTests(server: () => S3Server): void {
  test('an object up to two parts is one request, and one byte more is a multipart upload', async () => {
    const store = freshStore(server());
    const bytes = largeBytes(2 * PART_BYTES_MIN + 1);
    await putObject(store, 'one', bytes.subarray(0, PART_BYTES_MIN), bytes.subarray(PART_BYTES_MIN, -1));
    assert.deepEqual(Object.entries(store.counters.requests), [['PutObject', 1]]);
    assert.ok(Buffer.from(await store.read('one', 0, bytes.length - 1)).equals(bytes.subarray(0, -1)));
    await putObject(store, 'two', bytes);
    assert.equal(store.counters.requests['UploadPart'], 3);
    assert.equal(store.counters.requests['CompleteMultipartUpload'], 1);
    assert.ok(Buffer.from(await store.read('two', 0, bytes.length)).equals(bytes));
    await store.close();
  });

  test('an object of many parts reads back whole and across the borders of its parts', async () => {
    const store = freshStore(server(), { parallelParts: 2 });
    const bytes = largeBytes(4 * PART_BYTES_MIN + 12_345);
    const pieces = [0, 1000, 7_000_000, 7_000_001, 19_000_000, bytes.length];
    const parts = pieces.slice(1).map((end, index) => bytes.subarray(pieces[index], end));
    assert.equal(await putObject(store, 'k', ...parts), bytes.length);
    assert.ok(Buffer.from(await store.read('k', 0, bytes.length)).equals(bytes));
    const around = await store.read('k', 2 * PART_BYTES_MIN - 50, 100);
    assert.ok(Buffer.from(around).equals(bytes.subarray(2 * PART_BYTES_MIN - 50, 2 * PART_BYTES_MIN + 50)));
    await store.close();
  });
}

function memoryTests(server: () => S3Server): void {
  for (const memory of [PART_BYTES_MIN, 2 * PART_BYTES_MIN]) {
    test(`a writer that may hold ${memory} bytes sends the same object in small parts`, async () => {
      const store = freshStore(server(), { partBytes: 4 * PART_BYTES_MIN });
      const bytes = largeBytes(3 * PART_BYTES_MIN + 1);
      const writer = await store.create('k', memory);
      for (let at = 0; at < bytes.length; at += 1_000_000) await writer.write(bytes.subarray(at, at + 1_000_000));
      assert.equal(await writer.commit(), bytes.length);
      assert.equal(store.counters.requests['UploadPart'], 4);
      assert.ok(Buffer.from(await store.read('k', 0, bytes.length)).equals(bytes));
      await store.close();
    });
  }
}

function unfinishedUploadTests(server: () => S3Server): void {
  test('abort in the middle of an upload leaves neither object nor parts', async () => {
    const store = freshStore(server());
    const writer = await store.create('k');
    await writer.write(largeBytes(3 * PART_BYTES_MIN));
    await writer.abort();
    assert.equal(await store.removeUnfinished(THE_FUTURE), 0);
    assert.deepEqual(await keysIn(store), []);
    await store.close();
  });

  test('uploads of a process that was stopped are found, and only those old enough are aborted', async () => {
    const store = freshStore(server());
    for (const key of ['a', 'b']) await (await store.create(key)).write(largeBytes(3 * PART_BYTES_MIN));
    assert.equal(await store.removeUnfinished(Date.now() - 3_600_000), 0);
    assert.equal(await store.removeUnfinished(THE_FUTURE), 2);
    assert.equal(await store.removeUnfinished(THE_FUTURE), 0);
    await store.close();
  });

  test('an upload that was aborted by somebody else fails its writer', async () => {
    const store = freshStore(server());
    const writer = await store.create('k');
    await writer.write(largeBytes(3 * PART_BYTES_MIN));
    await until('the upload', async () => (await store.removeUnfinished(THE_FUTURE, true)) === 1);
    assert.equal(await store.removeUnfinished(THE_FUTURE), 1);
    await assert.rejects(writer.commit(), withCode('ERR_MILLRACE_WRITE_FAILED'));
    await writer.abort();
    assert.deepEqual(await keysIn(store), []);
    await store.close();
  });
}

function keyTests(server: () => S3Server): void {
  test('a large object under a key that exists is refused before its parts are sent', async () => {
    const store = freshStore(server());
    await putObject(store, 'k', patternBytes(10));
    const writer = await store.create('k');
    await assert.rejects(writer.write(largeBytes(2 * PART_BYTES_MIN + 1)), withCode('ERR_MILLRACE_OBJECT_EXISTS'));
    await writer.abort();
    assert.equal(store.counters.requests['UploadPart'], undefined);
    assert.equal(await store.size('k'), 10);
    await store.close();
  });

  test("of many writers of one key exactly one wins, and the object is the winner's", async () => {
    const store = freshStore(server());
    const outcomes = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) => putObject(store, 'k', patternBytes(1000, index))),
    );
    const winners = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
    assert.equal(winners.length, 1);
    assert.deepEqual(Buffer.from(await store.read('k', 0, 1000)), Buffer.from(patternBytes(1000, winners[0])));
    await store.close();
  });

  test('a server without conditional writes is asked first', async () => {
    const store = freshStore(server(), { conditionalWrites: false });
    await putObject(store, 'k', patternBytes(10));
    await assert.rejects(putObject(store, 'k', patternBytes(10)), withCode('ERR_MILLRACE_OBJECT_EXISTS'));
    assert.deepEqual([store.counters.requests['PutObject'], store.counters.requests['HeadObject']], [1, 2]);
    await store.close();
  });

  test('listings and deletes of more than a thousand objects take several requests and miss none', async () => {
    const store = freshStore(server());
    const keys = Array.from({ length: 1_010 }, (_, index) => `k/${String(index).padStart(4, '0')}`);
    const waiting = [...keys];
    const put = async (): Promise<void> => {
      for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
        await putObject(store, key, new Uint8Array(0));
      }
    };
    await Promise.all(Array.from({ length: 16 }, put));
    assert.deepEqual(await keysIn(store), keys);
    assert.ok((store.counters.requests['ListObjectsV2'] ?? 0) >= 2);
    assert.deepEqual((await store.delete(keys)).sort(), keys);
    assert.equal(store.counters.requests['DeleteObjects'], 2);
    assert.deepEqual(await keysIn(store), []);
    await store.close();
  });

  test('objects of others in the same bucket are left alone', async () => {
    const options = freshOptions(server());
    const store = new S3ObjectStore(options, impatient);
    const client = rawClient(server());
    for (const key of [`${options.prefix}Not A Key`, `other-${options.prefix}k`]) {
      await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: key, Body: 'x' }));
    }
    client.destroy();
    await putObject(store, 'k', patternBytes(1));
    assert.deepEqual(await keysIn(store), ['k']);
    await store.close();
  });
}

const OPENER: string = new URL('../../../src/object/open-descriptor.js', import.meta.url).href;
/** What a pool worker does with a descriptor. */
const WORKER = `
  const { parentPort, workerData } = require('node:worker_threads');
  (async () => {
    const { openDescriptor } = await import(workerData.opener);
    const store = await openDescriptor(workerData.descriptor);
    parentPort.postMessage(await store.read('k', 10, 20));
    await store.close();
  })();
`;

function threadTests(server: () => S3Server): void {
  test('a worker thread opens the same bucket from a descriptor', async () => {
    const component = describeS3Store(freshOptions(server()));
    const store = await component.open();
    await putObject(store, 'k', patternBytes(100));
    const worker = new Worker(WORKER, { eval: true, workerData: { opener: OPENER, descriptor: component.descriptor } });
    const [bytes] = (await once(worker, 'message')) as [Uint8Array];
    assert.deepEqual(Buffer.from(bytes), Buffer.from(patternBytes(100).subarray(10, 30)));
    await worker.terminate();
    await store.close();
  });
}
