import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { open } from '../../src/index.ts';
import { postgres as describePostgres } from '../../src/postgres.ts';
import { s3 } from '../../src/s3/index.ts';
import { finished, runCli, startCli } from '../cli/cli-process.ts';
import { installCeph, type S3Server, startCeph } from '../support/ceph-server.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { newSchema } from '../support/postgres-coordinators.ts';
import { findPostgres, PostgresServer } from '../support/postgres-server.ts';
import { checkStream, WriterProcess } from '../support/shared-world.ts';
import { numbered, texts } from '../support/test-store.ts';

const BUCKET = 'millrace-shared';

/** A store as whoever looks after it names it; passwords and keys come from the environment. */
function placeOf(database: PostgresServer, { owner, endpoint }: S3Server, schema: string, prefix: string): string[] {
  const { host, port, user, password, database: name } = database.options;
  Object.assign(process.env, {
    PGPASSWORD: password,
    AWS_ACCESS_KEY_ID: owner.accessKeyId,
    AWS_SECRET_ACCESS_KEY: owner.secretAccessKey,
  });
  return [
    ...['--coordinator', `postgresql://${user}@${host}:${port}/${name}?schema=${schema}`],
    ...['--objects', `s3://${BUCKET}/${prefix}?endpoint=${encodeURIComponent(endpoint)}`],
  ];
}

async function byCommandLine(database: PostgresServer, bucket: S3Server, schema: string): Promise<void> {
  const place = placeOf(database, bucket, schema, 'store/');
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

    test('takes nothing of an agent that slept beyond its lease while another one did its job', async () => {
      const schema = newSchema();
      const proxy = new FaultProxy(bucket.endpoint);
      const sleeper = placeOf(database, { ...bucket, endpoint: await proxy.listen() }, schema, 'sleeper/');
      await using store = await open({
        wal: false,
        diskless: { interval: 5 },
        objects: s3({ bucket: BUCKET, prefix: 'sleeper/', endpoint: bucket.endpoint, credentials: bucket.owner }),
        coordinator: describePostgres({ ...database.options, schema }),
        compaction: false,
      });
      const stream = await store.stream('s');
      for (const from of [0, 10, 20]) await stream.appendMany(numbered(10, 'record ', from));

      const agent = startCli('compact', ...sleeper, '--force');
      agent.stdin.end();
      await new Promise<void>((asleep) => {
        proxy.plan(({ method }) => {
          // Its output is on the way: it arrives, and nobody hears of that.
          if (method === 'PUT' && agent.kill('SIGSTOP')) asleep();
          return undefined;
        });
      });
      proxy.plan();
      // The clock of the store jumps, which is as good as a sleep of ten minutes.
      await database.query(`UPDATE ${schema}.clock SET now = now + 600000`);
      assert.equal((await store.compact({ force: true })).jobs, 1, 'the job is free again');
      const committed = await store.objects();

      agent.kill('SIGCONT');
      const { stdout, stderr } = await finished(agent);
      assert.match(stdout, /^0 jobs|nothing/, stderr);
      assert.deepEqual(await store.objects(), committed);
      assert.deepEqual(await texts(stream.read()), numbered(30));
      assert.deepEqual((await store.verify()).problems, []);
      const { orphans, young, foreign } = await store.removeOrphans({ dryRun: true });
      assert.deepEqual([orphans, young, foreign], [0, 0, []], 'every object in the bucket is known');
      await proxy.close();
    });
  });
}
