import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import type { LoadResult } from '../../src/cli/load/result.ts';
import { runCli, succeed } from './cli-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { storeWith } from './store-fixture.ts';

suite('millrace load', () => {
  const directory = temporaryDirectory();
  const folder = directory.path;
  after(() => {
    directory.remove();
  });
  const short = [
    '--seconds',
    '1',
    '--warm-up',
    '0',
    '--rate',
    '500',
    '--size',
    '200',
    '--slots',
    '2',
    '--slot-bytes',
    '1048576',
  ];

  test('sends, acknowledges and reads what its rate says, and writes a page that needs nothing else', async () => {
    const [dir, report] = [join(folder, 'store'), join(folder, 'load.html')];
    const cast = ['--streams', '3', '--producers', '2', '--publishers', '--followers', '3', '--keys', '50'];
    const { code, stdout, stderr } = await runCli(['load', dir, ...short, ...cast, '--report', report, '--json']);
    const result = JSON.parse(stdout) as LoadResult;
    assert.deepEqual([code, JSON.parse(stderr)], [0, { note: `the report is ${report}` }]);
    assert.deepEqual(
      [result.sent, result.acknowledged, result.received, result.followersCaughtUp, result.unsent],
      [500, 500, 500, 3, 0],
    );
    assert.equal(result.latency.count, 500);
    const page = readFileSync(report, 'utf8');
    assert.doesNotMatch(page, /(src|href)=|@import|url\(|https?:\/\/|NaN|Infinity|undefined/);
    for (const title of ['Memory', 'Ring', 'Compaction backlog', 'By percentile', 'Records a second']) {
      assert.ok(page.includes(`<figcaption>${title}`), title);
    }
    assert.match(await succeed(['ls', dir]), /load-00002/);
    // The next test finds the publishers' ids and goes on behind them.
    const again = await succeed(['load', dir, ...short, ...cast]);
    assert.match(again, /kept up: every record was sent and acknowledged/);
    assert.match(await succeed(['verify', dir]), /ok|intact|no damage/i);
  });

  test('threads share the rate and the streams, and what they send is read', async () => {
    const cast = ['--streams', '4', '--threads', '2', '--followers', '4', '--batch', '4'];
    const stdout = await succeed(['load', join(folder, 'threads'), ...short, ...cast, '--json', '--remove']);
    const result = JSON.parse(stdout) as LoadResult;
    assert.deepEqual(
      [result.sent, result.acknowledged, result.received, result.latency.count, result.unsent],
      [500, 500, 500, 500, 0],
    );
  });

  test('--remove deletes the directory that it made', async () => {
    const dir = join(folder, 'removed');
    await succeed(['load', dir, ...short, '--profile', 'burst', '--batch', '8', '--followers', '0', '--remove']);
    assert.ok(!existsSync(dir));
  });

  test('a report that cannot be written is refused before the test, and makes no store', async () => {
    const [dir, report] = [join(folder, 'unreported'), join(folder, 'no', 'such', 'folder.html')];
    const { code, stderr } = await runCli(['load', dir, ...short, '--report', report]);
    assert.equal(code, 2);
    assert.match(stderr, /ERR_MILLRACE_INVALID_ARGUMENT: the report cannot be written .*ENOENT.*: name a file/);
    assert.ok(!existsSync(dir));
  });

  test('a store with other streams is left alone', async () => {
    const fixture = await storeWith({ orders: ['a'] });
    const { code, stderr } = await runCli(['load', fixture.store, ...short, '--remove']);
    assert.equal(code, 2);
    assert.match(stderr, /ERR_MILLRACE_INVALID_ARGUMENT: .* holds the stream "orders".*: name another directory/);
    assert.ok(existsSync(fixture.store));
    fixture.remove();
  });
});
