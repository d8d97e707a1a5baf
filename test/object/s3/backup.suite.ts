/** Backups into a bucket, by the interface and by the command line, and stores that are made of them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { backups, restore, type Store, verifyBackup } from '../../../src/index.ts';
import { s3 } from '../../../src/s3/index.ts';
import { SeededRandom } from '../../../src/base/random.ts';
import { killAndCheck } from '../../backup/killed-writer.ts';
import { runCli } from '../../cli/cli-process.ts';
import type { S3Server } from '../../support/ceph-server.ts';
import { numbered, StoreFolder, texts } from '../../support/test-store.ts';
import { freshOptions } from './s3-fixture.ts';

export function s3BackupSuite(server: () => S3Server): void {
  describe('backups in S3', () => {
    test('copy what is new, are checked, and are restored into a directory or another bucket', async (t) => {
      const folder = new StoreFolder(t);
      const target = s3(freshOptions(server()));
      const store = await folder.open();
      const stream = await store.stream('s');
      for (const [round, copiedObjects] of [1, 1, 0].entries()) {
        if (copiedObjects > 0) await stream.appendMany(numbered(20, 'record ', round * 20));
        const report = await store.backup(target, { keep: 2 });
        assert.deepEqual([report.backup, report.copiedObjects], [round + 1, copiedObjects]);
      }
      assert.deepEqual(
        (await backups(target)).map(({ backup, records }) => [backup, records]),
        [
          [2, 40],
          [3, 40],
        ],
      );
      assert.deepEqual((await verifyBackup(target)).problems, []);
      await restore(target, join(folder.parent, 'here'));
      await expectRestored(folder, 'here', undefined);
      const objects = s3(freshOptions(server()));
      await restore(target, { dir: join(folder.parent, 'there'), objects });
      await expectRestored(folder, 'there', objects);
    });

    test('a store whose own objects are in the bucket is backed up beside them', async (t) => {
      const folder = new StoreFolder(t);
      const objects = s3(freshOptions(server()));
      const target = s3(freshOptions(server()));
      const store: Store = await folder.open({ objects });
      await (await store.stream('s')).appendMany(numbered(40));
      assert.equal((await store.backup(target)).copiedObjects, 1);
      await assert.rejects(store.backup(objects), { code: 'ERR_MILLRACE_INVALID_ARGUMENT' });
      await restore(target, join(folder.parent, 'copy'));
      await expectRestored(folder, 'copy', undefined);
    });

    test('the commands take the bucket as a URL, with credentials from where AWS tools have them', async (t) => {
      const folder = new StoreFolder(t);
      const store = await folder.open();
      await (await store.stream('s')).appendMany(numbered(40));
      await store.close();
      const { bucket, prefix, endpoint } = freshOptions(server());
      const { accessKeyId, secretAccessKey } = server().owner;
      Object.assign(process.env, { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
      const url = `s3://${bucket}/${prefix}?endpoint=${encodeURIComponent(String(endpoint))}`;
      const prints = async (form: RegExp, ...args: string[]): Promise<void> => {
        const { code, stdout, stderr } = await runCli(args);
        assert.match(stdout, form, stderr);
        assert.deepEqual([code, stderr], [0, '']);
      };
      await prints(/^backup 1: 40 records/, 'backup', folder.dir, url);
      await prints(/^backup {2}made/, 'backups', url);
      await prints(/intact/, 'backups', url, '--verify');
      await prints(/^backup 1 of /, 'restore', url, join(folder.parent, 'copy'));
      await expectRestored(folder, 'copy', undefined);
    });

    test('killed in the midst of a backup, the bucket holds whole ones', async (t) => {
      const options = freshOptions(server());
      const seed = Date.now() % 1_000_000;
      t.diagnostic(`seed ${seed}`);
      const place = { argument: JSON.stringify(options), target: s3(options) };
      await killAndCheck(new StoreFolder(t), place, 1, new SeededRandom(seed));
    });
  });
}

/** Forty records, and room for the next. */
async function expectRestored(
  folder: StoreFolder,
  name: string,
  objects: ReturnType<typeof s3> | undefined,
): Promise<void> {
  const dir = join(folder.parent, name);
  const copy = await folder.open({ dir, ...(objects === undefined ? {} : { objects }) });
  const stream = await copy.stream('s');
  assert.deepEqual(await texts(stream.read()), numbered(40));
  assert.equal(await stream.append('next'), 40);
  assert.deepEqual((await copy.verify()).problems, []);
  await copy.close();
}
