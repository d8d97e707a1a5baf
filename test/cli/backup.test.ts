import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { numbered, StoreFolder } from '../support/test-store.ts';
import { CliHost, succeed } from './cli-process.ts';

const host = new CliHost();
after(() => {
  host.end();
});

suite('backup, backups, restore', () => {
  test('a store is backed up, listed, checked and restored', async (t) => {
    const folder = new StoreFolder(t);
    const target = join(folder.parent, 'backups');
    const lines = numbered(100);
    await succeed(['ingest', folder.dir, 's'], `${lines.join('\n')}\n`);
    assert.match(
      await host.succeed(['backup', folder.dir, target]),
      /^backup 1: 100 records of 1 stream in 1 segment \(.*\), 1 new \(.*\)\n$/,
    );
    const printed = await host.succeed(['backup', folder.dir, target, '--keep', '1', '--json']);
    const report = JSON.parse(printed) as Record<string, number>;
    const { backup, copiedObjects, removedBackups, unflushedRecords } = report;
    assert.deepEqual([backup, copiedObjects, removedBackups, unflushedRecords], [2, 0, 1, 0]);
    assert.match(await host.succeed(['backups', target]), /^backup .*\n +2 .* 100 .*\n$/);
    assert.match(await host.succeed(['backups', target, '--verify']), /^intact: 100 records in 1 segment/);
    const copy = join(folder.parent, 'copy');
    assert.match(await host.succeed(['restore', target, copy]), /^backup 2 of .*: 100 records of 1 stream/);
    assert.equal(await host.succeed(['read', copy, 's']), `${lines.join('\n')}\n`);
  });

  test('beside a writer, what is in the log only is counted in a note', async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open();
    const stream = await store.stream('s');
    await stream.append('one');
    await store.flush();
    await stream.append('two');
    const { code, stdout, stderr } = await host.run(['backup', folder.dir, join(folder.parent, 'backups')]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^backup 1: 1 record of 1 stream/);
    assert.match(stderr, /note: 1 newer record/);
  });

  test('what is wrong is said with its code and the exit code', async (t) => {
    const folder = new StoreFolder(t);
    const none = await host.run(['restore', folder.parent, folder.dir]);
    assert.deepEqual([none.code, none.stdout], [1, '']);
    assert.match(none.stderr, /ERR_MILLRACE_BACKUP_NOT_FOUND/);
    const wrong = await host.run(['backup', folder.dir, 's3:bucket']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /s3:\/\/bucket\/prefix\//);
  });
});
