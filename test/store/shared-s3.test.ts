import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { open } from '../../src/index.ts';
import { postgres as describePostgres } from '../../src/postgres.ts';
import { s3 } from '../../src/s3/index.ts';
import { runCli } from '../cli/cli-process.ts';
import { installCeph, type S3Server, startCeph } from '../support/ceph-server.ts';
import { newSchema } from '../support/postgres-coordinators.ts';
import { findPostgres, PostgresServer } from '../support/postgres-server.ts';
import { checkStream, WriterProcess } from '../support/shared-world.ts';

const BUCKET = 'millrace-shared';

/** The same store, as whoever looks after it names it; passwords and keys come from the environment. */
async function byCommandLine(database: PostgresServer, bucket: S3Server, schema: string): Promise<void> {
  const { host, port, user, password, database: name } = database.options;
  const { accessKeyId, secretAccessKey } = bucket.owner;
  Object.assign(process.env, {
    PGPASSWORD: password,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  });
  const place = [
    ...['--coordinator', `postgresql://${user}@${host}:${port}/${name}?schema=${schema}`],
    ...['--objects', `s3://${BUCKET}/store/?endpoint=${encodeURIComponent(bucket.endpoint)}`],
  ];
  const prints = async (form: RegExp, command: string, ...options: readonly string[]): Promise<void> => {
    // The SDK may have something to say on standard error about this version of Node.
    const { code, stdout, stderr } = await runCli([command, ...place, ...options]);
    assert.match(stdout, form, stderr);
    assert.equal(code, 0, stderr);
  };
  await prints(/^intact: /, 'verify');
  await prints(/0 orphans .*: nothing deleted/, 'gc', '--dry-run');
  await prints(/^compaction is paused/, 'compact', '--pause');
  await prints(/^compaction is resumed/, 'compact', '--resume');
  await prints(/committed/, 'objects');
}
const postgres = await findPostgres();
const obstacle = 'missing' in postgres ? postgres.missing : await installCeph();

if ('missing' in postgres || obstacle !== undefined) {
  console.log(`the test of a store over S3 and PostgreSQL is skipped: ${obstacle}`);
  test('a store over S3 and PostgreSQL', { skip: obstacle ?? true }, () => undefined);
} else {
  describe('a store over S3 and PostgreSQL', () => {
    let database: PostgresServer;
    let bucket: S3Server;
    before(async () => {
      database = await PostgresServer.start(postgres.bin);
      bucket = await startCeph();
      await bucket.createBucket(BUCKET);
    });
    after(async () => {
      await bucket.stop();
      await database.stop();
    });

    test('takes appends of three processes without any directory, one of them killed', async () => {
      const place = {
        database: { ...database.options, schema: newSchema(), maxConnections: 4 },
        objects: { bucket: BUCKET, prefix: 'store/', endpoint: bucket.endpoint, credentials: bucket.owner },
      };
      const streams = ['a', 'b'];
      const start = (name: string, records: number, publisher?: string): WriterProcess =>
        new WriterProcess({ name, streams, records, ...place, ...(publisher && { publisher }) });
      const survivors = [start('p', 200), start('q', 200)];
      const killed = start('killed', 100_000, 'sensor');
      await Promise.all([killed.killAfter(200), ...survivors.map((writer) => writer.finish())]);
      const again = start('killed', 400, 'sensor');
      await again.finish();
      await using store = await open({
        wal: false,
        objects: s3(place.objects),
        coordinator: describePostgres(place.database),
        compaction: false,
      });
      for (const name of streams) await checkStream(store, name, [...survivors, killed]);
      assert.ok((await store.compact({ force: true })).jobs > 0, 'there was something to merge');
      for (const name of streams) await checkStream(store, name, [...survivors, killed]);
      assert.deepEqual((await store.verify()).problems, []);
      const told = `${store.metrics()}${JSON.stringify(store.stats())}`;
      assert.match(told, /purpose="merge",operation="PutObject"/);
      for (const secret of [bucket.owner.secretAccessKey, bucket.owner.accessKeyId, database.options.password]) {
        assert.ok(!told.includes(String(secret)), 'metrics name no credentials');
      }
      await byCommandLine(database, bucket, place.database.schema);
    });
  });
}
