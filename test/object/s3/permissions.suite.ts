/** Stores in buckets of which their user may do only a part, or nothing, or that are not there. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PutBucketPolicyCommand } from '@aws-sdk/client-s3';
import type { OpenOptions, Store } from '../../../src/index.ts';
import { s3 } from '../../../src/s3/index.ts';
import type { S3Server } from '../../support/ceph-server.ts';
import { coded, StoreFolder, texts } from '../../support/test-store.ts';
import { rawClient } from './s3-fixture.ts';

const REFUSED = 'ERR_MILLRACE_REFUSED';
const MODES: Readonly<Record<string, Partial<OpenOptions>>> = { with: {}, without: { wal: false } };

/** A new bucket of the owner, in which the stranger may do this. */
async function makeBucket(server: S3Server, bucket: string, actions: readonly string[]): Promise<void> {
  await server.createBucket(bucket);
  const names = [`arn:aws:s3:::${bucket}`, `arn:aws:s3:::${bucket}/*`];
  const allowed = { Effect: 'Allow', Principal: { AWS: ['arn:aws:iam:::user/stranger'] }, Resource: names };
  const policy = { Version: '2012-10-17', Statement: [{ ...allowed, Action: actions }] };
  const client = rawClient(server);
  await client.send(new PutBucketPolicyCommand({ Bucket: bucket, Policy: JSON.stringify(policy) }));
  client.destroy();
}

async function values(store: Store): Promise<unknown[]> {
  return texts((await store.stream('s')).read());
}

export function s3PermissionSuite(server: () => S3Server): void {
  const objects = (bucket: string, user: 'owner' | 'stranger'): Partial<OpenOptions> => {
    const { endpoint, [user]: credentials } = server();
    return { objects: s3({ bucket, endpoint, credentials }), compaction: false };
  };

  describe('a bucket', () => {
    for (const [wal, options] of Object.entries(MODES)) {
      test(`that may only be read refuses a store ${wal} a WAL by its first flush, and is read`, async (t) => {
        const bucket = `read-only-${wal}-wal`;
        await makeBucket(server(), bucket, ['s3:GetObject', 's3:ListBucket']);
        const folder = new StoreFolder(t);
        const whole = await folder.open({ ...options, ...objects(bucket, 'owner') });
        await (await whole.stream('s')).append('before');
        await whole.close();

        const store = await folder.open({ ...options, ...objects(bucket, 'stranger') });
        const stream = await store.stream('s');
        const refused = coded(REFUSED, bucket);
        if (options.wal === false) await assert.rejects(stream.append('refused'), refused);
        else await stream.append('in the log');
        await assert.rejects(store.flush(), refused);
        await assert.rejects(stream.append('after'), refused);
        const acknowledged = options.wal === false ? ['before'] : ['before', 'in the log'];
        assert.deepEqual(await values(store), acknowledged, 'reads go on');
        await store.close();

        const reader = await folder.open({ ...objects(bucket, 'stranger'), readOnly: true });
        assert.deepEqual(await values(reader), ['before']);
        await reader.close();
        const again = await folder.open({ ...options, ...objects(bucket, 'owner') });
        await again.flush();
        assert.deepEqual(await values(again), acknowledged, 'and nothing was lost');
      });
    }

    for (const [what, actions] of Object.entries({ written: ['s3:PutObject'], listed: ['s3:ListBucket'] })) {
      test(`that may only be ${what} is refused when the store is opened, and by its readers`, async (t) => {
        const bucket = `only-${what}`;
        await makeBucket(server(), bucket, actions);
        const folder = new StoreFolder(t);
        const whole = await folder.open(objects(bucket, 'owner'));
        await (await whole.stream('s')).append('before');
        await whole.close();
        await assert.rejects(folder.open(objects(bucket, 'stranger')), coded(REFUSED, bucket));
        const reader = await folder.open({ ...objects(bucket, 'stranger'), readOnly: true });
        await assert.rejects(values(reader), coded(REFUSED, bucket));
        assert.deepEqual(await values(await folder.open(objects(bucket, 'owner'))), ['before']);
      });
    }

    test('that does not exist is named by the first flush, and the log keeps what was acknowledged', async (t) => {
      const folder = new StoreFolder(t);
      const store = await folder.open(objects('nowhere', 'owner'));
      assert.equal(await (await store.stream('s')).append('in the log'), 0);
      await assert.rejects(store.flush(), coded(REFUSED, 'nowhere'));
      await store.close();
      await server().createBucket('nowhere');
      const again = await folder.open(objects('nowhere', 'owner'));
      await again.flush();
      assert.deepEqual(await values(again), ['in the log']);
    });
  });
}
