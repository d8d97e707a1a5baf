/** Ctrl-C and SIGTERM in the middle of long commands: they end in order, say so, and leave nothing broken. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LoadResult } from '../../src/cli/load/result.ts';
import { type CliResult, finished, MAIN, runCli, succeed } from './cli-process.ts';
import { type StoreFixture, storeWith, withStore } from './store-fixture.ts';

/** When the process believes that it got the signal, as modules that see to it. `EMIT` stands for the signal. */
const HOOKS = {
  /** As soon as the command listens for it. */
  listening: `process.on('newListener', (name) => name === 'SIGNAL' && EMIT());`,
  /** When its store has taken the first records. */
  appending: `import { subscribe } from 'node:diagnostics_channel'; subscribe('millrace:append', EMIT);`,
  /** When the first segments are in the store that its last argument names, and others are not. */
  copying: `
    import { existsSync, readdirSync } from 'node:fs';
    const folder = process.argv.at(-1) + '/objects/segments';
    const isBegun = () => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.seg'));
    const look = () => (isBegun() ? EMIT() : setImmediate(look));
    look();`,
} as const;

function hook(signal: NodeJS.Signals, when: keyof typeof HOOKS, times = 1): string {
  const emit = `process.emit('${signal}', '${signal}');`.repeat(times);
  const source = HOOKS[when].replaceAll('EMIT', `(() => process.nextTick(() => { ${emit} }))`);
  return `data:text/javascript,${encodeURIComponent(source.replaceAll('SIGNAL', signal))}`;
}

function runInterrupted(hooked: string, ...args: string[]): Promise<CliResult> {
  const child = spawn(process.execPath, ['--import', hooked, MAIN, ...args]);
  child.stdin.end();
  return finished(child);
}

const SMALL = '--slots 2 --slot-bytes 1048576 --rate 200 --followers 0 --seconds 600'.split(' ');
const VALUES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
const ABORTED = /^millrace: ERR_MILLRACE_ABORTED: [^\n]+\n$/;

async function valuesOf(dir: string): Promise<(string | undefined)[]> {
  return withStore({ dir, readOnly: true }, async (store) => {
    const values: (string | undefined)[] = [];
    for await (const { value } of (await store.stream('orders')).read()) values.push(value?.toString());
    return values;
  });
}

/** A store of more segments than are worked on at once. */
async function storeOfSegments(): Promise<StoreFixture> {
  const fixture = await storeWith({});
  await withStore({ dir: fixture.store }, async (store) => {
    const stream = await store.stream('orders');
    for (const value of VALUES) {
      await stream.append(value);
      await store.flush();
    }
  });
  return fixture;
}

test('compact lets the jobs that run finish, and the store is as good as before', async () => {
  const fixture = await storeOfSegments();
  const { code, stdout, stderr } = await runInterrupted(
    hook('SIGINT', 'listening'),
    'compact',
    fixture.store,
    '--force',
  );
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
  assert.match(stderr, ABORTED);
  assert.deepEqual(await valuesOf(fixture.store), VALUES);
  fixture.remove();
});

test('backup leaves no backup, and the next one is whole', async () => {
  const fixture = await storeOfSegments();
  const target = join(fixture.path, 'backup');
  const { code, stdout, stderr } = await runInterrupted(hook('SIGTERM', 'listening'), 'backup', fixture.store, target);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
  assert.match(stderr, ABORTED);
  assert.match(await succeed(['backup', fixture.store, target]), /^backup 1: 10 records/);
  fixture.remove();
});

test('restore leaves no store, also for those who look, and goes on where it was when it is run again', async () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const fixture = await storeOfSegments();
    const [target, copy] = [join(fixture.path, 'backup'), join(fixture.path, 'copy')];
    await succeed(['backup', fixture.store, target]);
    // In the middle: some segments are there, and some are not.
    const { code, stdout, stderr } = await runInterrupted(hook(signal, 'copying'), 'restore', target, copy);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    assert.match(stderr, ABORTED);
    const left = readdirSync(join(copy, 'objects', 'segments')).filter((name) => name.endsWith('.seg')).length;
    assert.ok(left > 0 && left < VALUES.length, `${left} segments are there`);
    for (const command of ['ls', 'verify', 'compact']) {
      const refused = await runCli([command, copy]);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /^millrace: ERR_MILLRACE_[A-Z_]+: [^\n]*restore[^\n]*\n$/);
    }
    assert.match(await succeed(['restore', target, copy]), /^backup 1 of /);
    assert.deepEqual(await valuesOf(copy), VALUES);
    fixture.remove();
  }
});

test('backups --verify says that it did not finish', async () => {
  const fixture = await storeOfSegments();
  const target = join(fixture.path, 'backup');
  await succeed(['backup', fixture.store, target]);
  const { code, stdout, stderr } = await runInterrupted(hook('SIGTERM', 'listening'), 'backups', target, '--verify');
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
  assert.match(stderr, ABORTED);
  fixture.remove();
});

test('a second signal ends a command at once, with the exit code of shells', async () => {
  const fixture = await storeOfSegments();
  const twice = hook('SIGTERM', 'listening', 2);
  assert.equal((await runInterrupted(twice, 'compact', fixture.store, '--force')).code, 143);
  assert.deepEqual(await valuesOf(fixture.store), VALUES);
  fixture.remove();
});

test('verify says that it did not finish', async () => {
  const fixture = await storeOfSegments();
  const { code, stdout, stderr } = await runInterrupted(hook('SIGINT', 'listening'), 'verify', fixture.store);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
  assert.match(stderr, ABORTED);
  fixture.remove();
});

test('load gives no verdict on a test that did not end, and its figures are of what ran', async () => {
  const fixture = await storeWith({});
  const args = ['load', fixture.store, ...SMALL, '--warm-up', '0', '--json'];
  const { code, stdout } = await runInterrupted(hook('SIGTERM', 'appending'), ...args);
  const result = JSON.parse(stdout) as LoadResult;
  assert.deepEqual([code, result.interrupted], [1, 'SIGTERM']);
  assert.ok(result.sent > 0 && result.seconds > 0 && result.processorSeconds >= 0);
  fixture.remove();
});

test('load that is ended in its warm-up has measured nothing', async () => {
  const fixture = await storeWith({});
  const args = ['load', fixture.store, ...SMALL, '--warm-up', '600'];
  const { code, stdout, stderr } = await runInterrupted(hook('SIGINT', 'appending'), ...args);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
  assert.match(stderr, ABORTED);
  fixture.remove();
});

test('read --follow ends as it should: that is how one ends it', async () => {
  const fixture = await storeWith({ orders: ['a'] });
  const args = ['read', fixture.store, 'orders', '--follow'];
  const { code, stderr } = await runInterrupted(hook('SIGTERM', 'listening'), ...args);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  fixture.remove();
});
