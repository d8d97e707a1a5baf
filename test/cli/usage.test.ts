import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { CliHost, runCli, succeed } from './cli-process.ts';
import { storeWith } from './store-fixture.ts';

const COMMANDS = [
  'ingest',
  'read',
  'ls',
  'info',
  'offsets',
  'configure',
  'trim',
  'verify',
  'recover',
  'compact',
  'backup',
  'backups',
  'restore',
  'dump',
  'load',
  'serve',
] as const;
const MANIFEST = join(import.meta.dirname, '..', '..', '..', 'package.json');

suite('usage', () => {
  const host = new CliHost();
  after(() => {
    host.end();
  });

  test('--version is the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string };
    assert.equal(await succeed(['--version']), `${version}\n`);
  });

  test('--help lists every command and explains the exit codes', async () => {
    const help = await succeed(['--help']);
    for (const command of COMMANDS) assert.match(help, new RegExp(`^ {2}${command} `, 'm'));
    assert.match(help, /0 ok, 1 failed or damage found, 2 wrong usage/);
  });

  for (const command of COMMANDS) {
    test(`the help of ${command} has examples of it`, async () => {
      const help = await host.succeed([command, '--help']);
      assert.match(help, new RegExp(`Examples:\n[^]*millrace ${command} `));
      assert.equal(await host.succeed(['help', command]), help);
    });
  }

  test('no command prints the help and is a usage error', async () => {
    const { code, stdout, stderr } = await runCli([]);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    assert.match(stderr, /^Usage: millrace/);
  });

  const wrong: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['an unknown command', ['mill'], /unknown command 'mill'/],
    ['the help of an unknown command', ['mill', '--help'], /unknown command 'mill'/],
    ['a stored offset without its consumer', ['offsets', 'x', 's', '--set', '41'], /such as billing=41/],
    ['an unknown option', ['ls', '--limt', 'x'], /unknown option '--limt'/],
    ['a missing argument', ['read', 'x'], /missing required argument 'stream'/],
    ['one argument too many', ['ls', 'x', 'y'], /too many arguments/],
    ['an empty directory name', ['ls', ''], /path of a directory/],
    ['a stream name with a slash', ['info', 'x', '../../x'], /holds no slash/],
    ['a stream name with a control character', ['info', 'x', 'a\u0007b'], /control characters/],
    ['an endless stream name', ['info', 'x', 'n'.repeat(100_000)], /at most 255 bytes/],
    ['a negative limit', ['read', 'x', 's', '--limit', '-1'], /whole number/],
    ['a limit that is no number', ['read', 'x', 's', '--limit', '1e3'], /whole number/],
    ['a place that is none', ['read', 'x', 's', '--from', 'yesterday'], /first, last, next, an offset/],
    ['an offset that no number can hold', ['read', 'x', 's', '--from', '99999999999999999999'], /an offset/],
    ['a date that is none', ['read', 'x', 's', '--from', '@2026-99-99'], /a time such as/],
    ['a profile that is none', ['load', 'x', '--profile', 'up'], /steady, ramp, burst/],
    ['more threads than streams', ['load', 'x', '--threads', '2'], /--streams 2 or more/],
    ['a record without room for its stamp', ['load', 'x', '--size', '7'], /at least 8 bytes/],
    ['an unknown codec', ['ingest', 'x', 's', '--compression', 'zip'], /lz4 or none/],
    ['an age in no unit', ['configure', 'x', 's', '--max-age', '7w'], /milliseconds .* 7d/],
    ['an age of nothing', ['configure', 'x', 's', '--max-age', '0d'], /milliseconds .* 7d/],
    ['a unit alone', ['configure', 'x', 's', '--max-age', 'd'], /milliseconds .* 7d/],
    ['a size in no unit', ['configure', 'x', 's', '--max-bytes', '1.5GiB'], /bytes .* 10GiB/],
    ['a size beyond all', ['configure', 'x', 's', '--max-bytes', '9999TiB'], /bytes .* 10GiB/],
    ['a port that is none', ['serve', 'x', '--port', '99999'], /whole number up to 65535/],
    ['no setting to change', ['configure', 'x', 's'], /name a setting/],
    ['a bucket without a name', ['verify', 'x', '--objects', 's3://'], /name of a bucket/],
  ];
  for (const [what, args, message] of wrong) {
    test(`${what} is a usage error on one line`, async () => {
      const { code, stdout, stderr } = await host.run(args);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
      assert.match(stderr, /^millrace: ERR_MILLRACE_INVALID_ARGUMENT: [^\n]+\n$/);
      assert.match(stderr, message);
      const command = COMMANDS.find((name) => name === args[0]);
      const help = command === undefined ? 'millrace --help' : `millrace ${command} --help`;
      assert.ok(stderr.endsWith(` (see ${help})\n`), stderr);
    });
  }

  test('options that the server refuses are a usage error', async () => {
    const fixture = await storeWith({});
    for (const options of [
      ['--token', 'short'],
      ['--host', '0.0.0.0'],
    ]) {
      const { code, stderr } = await host.run(['serve', fixture.store, ...options]);
      assert.equal(code, 2);
      assert.match(stderr, /INVALID_ARGUMENT: [^\n]+ \(see millrace serve --help\)\n$/);
    }
    fixture.remove();
  });

  test('what is only looked at is not made', async () => {
    const fixture = await storeWith({ orders: ['a'] });
    const nowhere = join(fixture.path, 'nowhere');
    const { code, stdout } = await host.run(['verify', fixture.store, '--objects', nowhere]);
    assert.equal(code, 1);
    assert.match(stdout, /it is missing/);
    assert.throws(() => statSync(nowhere), { code: 'ENOENT' });
    assert.equal(await host.succeed(['backups', nowhere]), `no backups in ${nowhere}\n`);
    assert.throws(() => statSync(nowhere), { code: 'ENOENT' });
    fixture.remove();
  });

  test('a stream that there is none of is answered with how to find those there are', async () => {
    const fixture = await storeWith({ orders: ['a'] });
    for (const args of [
      ['read', fixture.store, 'nope'],
      ['info', fixture.store, 'nope'],
      ['trim', fixture.store, 'nope', '1'],
      ['offsets', fixture.store, 'nope'],
    ]) {
      const { code, stderr } = await host.run(args);
      assert.deepEqual([code, stderr.includes('there is no stream "nope": "millrace ls"')], [1, true], stderr);
    }
    fixture.remove();
  });

  test('with --json errors are objects, those of usage too', async () => {
    const { code, stderr } = await runCli(['read', 'x', 's', '--limit', '-1', '--json']);
    const { error } = JSON.parse(stderr) as { error: Record<string, unknown> };
    assert.equal(code, 2);
    assert.deepEqual(
      { ...error, message: typeof error['message'] },
      { code: 'ERR_MILLRACE_INVALID_ARGUMENT', kind: 'invalid', retryable: false, message: 'string', details: {} },
    );
  });

  for (const args of [['read', 's'], ['info', 's'], ['ls'], ['verify'], ['compact']]) {
    const [command = '', ...rest] = args;
    test(`${command} of a directory without a store fails and makes none`, async () => {
      const fixture = await storeWith({});
      const missing = join(fixture.path, 'missing');
      const { code, stdout, stderr } = await runCli([command, missing, ...rest]);
      assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
      assert.match(stderr, /^millrace: ERR_MILLRACE_STORE_NOT_FOUND: [^\n]+\n$/);
      assert.throws(() => readFileSync(missing), { code: 'ENOENT' });
      fixture.remove();
    });
  }

  test('a file where the store should be fails with a coded error', async () => {
    const { code, stderr } = await runCli(['ls', MANIFEST]);
    assert.equal(code, 1);
    assert.match(stderr, /^millrace: ERR_MILLRACE_DIRECTORY_UNUSABLE: [^\n]+\n$/);
    for (const args of [
      ['backups', MANIFEST],
      ['restore', MANIFEST, 'nowhere'],
    ]) {
      const target = await runCli(args);
      assert.equal(target.code, 1);
      assert.match(target.stderr, /^millrace: ERR_MILLRACE_DIRECTORY_UNUSABLE: [^\n]+ must be a directory[^\n]+\n$/);
    }
  });
});
