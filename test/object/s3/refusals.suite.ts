import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import type { S3ObjectStore } from '../../../src/object/s3/s3-object-store.ts';
import { patternBytes, putObject, withCode } from '../../../src/testing/object-store-contract.ts';
import type { S3Server } from '../../support/ceph-server.ts';
import { freePorts } from '../../support/child-processes.ts';
import { BUCKET, freshStore, keysIn } from './s3-fixture.ts';

/** Every operation of a store, by name. */
const OPERATIONS: Readonly<Record<string, (store: S3ObjectStore) => Promise<unknown>>> = {
  write: (store) => putObject(store, 'k', patternBytes(10)),
  read: (store) => store.read('k', 0, 10),
  'empty read': (store) => store.read('k', 0, 0),
  size: (store) => store.size('k'),
  delete: (store) => store.delete(['k']),
  list: (store) => keysIn(store),
};

export function s3RefusalSuite(server: () => S3Server): void {
  describe('refusals of S3', () => {
    test('a bucket that does not exist is named by every operation, once', async () => {
      const store = freshStore(server(), { bucket: 'no-such-bucket' });
      for (const [name, operation] of Object.entries(OPERATIONS)) {
        await assert.rejects(operation(store), (error: Error) => {
          assert.match(error.message, /no-such-bucket/, name);
          return withCode('ERR_MILLRACE_REFUSED')(error);
        });
      }
      assert.equal(store.counters.requests['GetObject'], 1, 'a refusal is not tried again');
      await store.close();
    });

    test('a user without permission is refused by every operation', async () => {
      const store = freshStore(server(), { credentials: server().stranger });
      for (const operation of Object.values(OPERATIONS)) {
        await assert.rejects(operation(store), withCode('ERR_MILLRACE_REFUSED'));
      }
      await store.close();
    });

    test('credentials show up in no error, counter or printed store', async () => {
      const secret = 'sentinel-secret-of-the-test';
      const token = 'sentinel-token-of-the-test';
      const attempts = [
        { accessKeyId: server().owner.accessKeyId, secretAccessKey: secret },
        { accessKeyId: 'sentinel-id-of-the-test', secretAccessKey: secret },
        { accessKeyId: 'sentinel-id-of-the-test', secretAccessKey: secret, sessionToken: token },
      ];
      for (const credentials of attempts) {
        const store = freshStore(server(), { credentials });
        for (const operation of Object.values(OPERATIONS)) {
          const error = await operation(store).then(
            () => assert.fail('not refused'),
            (reason: unknown) => reason,
          );
          withCode('ERR_MILLRACE_REFUSED')(error);
          const printed = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(error);
          for (const part of Object.values(credentials)) assert.ok(!printed.includes(part), printed);
        }
        assert.ok(!inspect([store, store.counters], { depth: 20, showHidden: true }).includes('sentinel'));
        await store.close();
      }
    });

    test('a server that is not there is unavailable, after all attempts', async () => {
      const [port] = await freePorts(1);
      const store = freshStore(server(), { endpoint: `http://127.0.0.1:${port}`, attempts: 3 });
      await assert.rejects(store.read('k', 0, 1), withCode('ERR_MILLRACE_UNAVAILABLE'));
      assert.equal(store.counters.requests['GetObject'], 3);
      assert.deepEqual(await store.delete(['k']), []);
      await store.close();
    });

    test('a missing object in a bucket that exists is just missing', async () => {
      const store = freshStore(server(), { bucket: BUCKET });
      assert.equal(await store.size('k'), undefined);
      await assert.rejects(store.read('k', 0, 0), withCode('ERR_MILLRACE_OBJECT_NOT_FOUND'));
      await store.close();
    });
  });
}
