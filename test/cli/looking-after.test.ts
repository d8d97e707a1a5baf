/** Commands for whoever looks after a store: its objects, what nobody knows, and pauses of compaction. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { CliHost } from './cli-process.ts';
import { startWriter, storeWith, type StoreFixture, withStore } from './store-fixture.ts';

const host = new CliHost();
after(() => {
  host.end();
});

const DAYS_AGO = new Date(Date.now() - 2 * 86_400_000);

/** A store whose metadata is older than its second object. Returns the path of that. */
async function withOrphan(): Promise<{ readonly fixture: StoreFixture; readonly path: string; readonly key: string }> {
  const fixture = await storeWith({});
  rmSync(fixture.store, { recursive: true });
  const append = (name: string, value: string): Promise<string> =>
    withStore({ dir: fixture.store, wal: false }, async (store) => {
      await (await store.stream(name)).append(value);
      return (await store.objects()).at(-1)?.key ?? '';
    });
  await append('values', 'one');
  const manifest = join(fixture.store, 'manifest');
  const backup = join(fixture.path, 'backup');
  cpSync(manifest, backup, { recursive: true });
  const key = await append('later', 'two');
  rmSync(manifest, { recursive: true });
  cpSync(backup, manifest, { recursive: true });
  const path = join(fixture.store, 'objects', key);
  utimesSync(path, DAYS_AGO, DAYS_AGO);
  return { fixture, path, key };
}

suite('gc', () => {
  test('--dry-run names what it would delete; without it, that is deleted', async () => {
    const { fixture, path, key } = await withOrphan();
    const listed = await host.succeed(['gc', fixture.store, '--dry-run']);
    assert.match(listed, new RegExp(`^${key}  .*\\n1 orphan \\(.*\\) among 2 objects: nothing deleted\\n$`));
    assert.ok(existsSync(path));
    const report = JSON.parse(await host.succeed(['gc', fixture.store, '--json'])) as Record<string, unknown>;
    assert.deepEqual([report['orphans'], report['deleted'], report['dryRun']], [1, 1, false]);
    assert.ok(!existsSync(path));
    assert.equal(await host.succeed(['read', fixture.store, 'values']), 'one\n');
    fixture.remove();
  });

  test('refuses an age that is not safe', async () => {
    const fixture = await storeWith({});
    const { code, stderr } = await host.run(['gc', fixture.store, '--min-age', '1000', '--dry-run']);
    assert.equal(code, 1);
    assert.match(stderr, /^millrace: ERR_MILLRACE_INVALID_ARGUMENT: minAge [^\n]+\n$/);
    fixture.remove();
  });
});

suite('objects', () => {
  test('lists objects by state, and describes one', async () => {
    const fixture = await storeWith({ values: ['one', 'two'] });
    const { objects } = JSON.parse(await host.succeed(['objects', fixture.store, '--json'])) as {
      objects: { key: string }[];
    };
    const key = objects[0]?.key ?? '';
    assert.match(await host.succeed(['objects', fixture.store]), new RegExp(`${key}  committed`));
    assert.equal(await host.succeed(['objects', fixture.store, '--state', 'deleting']), 'no objects\n');
    assert.match(await host.succeed(['objects', fixture.store, '--key', key]), /\nvalues +0 +2 +2 /);
    const missing = await host.run(['objects', fixture.store, '--key', 'nothing']);
    assert.match(missing.stderr, /^millrace: ERR_MILLRACE_OBJECT_NOT_FOUND: [^\n]+\n$/);
    fixture.remove();
  });
});

suite('compact --pause', () => {
  test('works beside the process that has the store open, until --resume', async () => {
    const fixture = await storeWith({});
    const writer = await startWriter(fixture.store, 'values', 1, 0);
    const paused = (): Promise<boolean> =>
      withStore({ dir: fixture.store, readOnly: true }, (store) => store.compactionPaused());
    assert.match(await host.succeed(['compact', fixture.store, '--pause']), /^compaction is paused for all processes/);
    assert.equal(await paused(), true);
    assert.equal(await host.succeed(['compact', fixture.store, '--resume', '--json']), '{"paused":false}\n');
    assert.equal(await paused(), false);
    await writer.kill();
    fixture.remove();
  });
});

suite('a store that is no directory', () => {
  test('is named whole, by URLs of what can be reached, and without its password in the message', async () => {
    const secret = 'postgresql://user:hunter2@';
    const wrong = [
      ['compact'],
      ['verify', '--objects', 's3://bucket/'],
      ['verify', './data', '--objects', 's3://bucket/?key=hunter2'],
      ['gc', '--coordinator', `${secret}host/db`],
      ['objects', '--coordinator', `mysql://user:hunter2@host/db`, '--objects', './objects'],
      ['objects', '--coordinator', 'hunter2', '--objects', './objects'],
      ['objects', '--coordinator', `${secret}host/db`, '--objects', 's3://bucket/?secret=hunter2'],
    ];
    const results = await Promise.all(wrong.map((args) => host.run(args)));
    for (const [index, { code, stdout, stderr }] of results.entries()) {
      assert.deepEqual([code, stdout], [2, ''], wrong[index]?.join(' '));
      assert.match(stderr, /^millrace: ERR_MILLRACE_INVALID_ARGUMENT: [^\n]+\n$/);
      assert.ok(!stderr.includes('hunter2'), stderr);
    }
    const gone = ['verify', '--coordinator', `${secret}127.0.0.1:1/db`, '--objects', './objects'];
    const { code, stderr } = await host.run(gone);
    assert.equal(code, 1);
    assert.match(stderr, /^millrace: ERR_MILLRACE_UNAVAILABLE: [^\n]+\n$/);
    assert.ok(!stderr.includes('hunter2'), stderr);
  });
});
