/** What goes to a terminal and nowhere else, and readers of the output that leave early. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type CliResult, finished, MAIN } from './cli-process.ts';
import { type StoreFixture, storeWith } from './store-fixture.ts';

const MILLRACE = `'${process.execPath}' '${MAIN}'`;
const ESCAPE: RegExp = new RegExp(String.fromCharCode(27));
const COLOUR: RegExp = new RegExp(`${ESCAPE.source}\\[[\\d;]*m`);
const noTerminal = spawnSync('script', ['--version']).error === undefined ? false : 'there is no `script` program here';

/** More than a pipe holds, so that whoever writes it notices that nobody reads. */
const MANY = Array.from({ length: 40_000 }, (_, index) => `record ${index}`);

let fixture: StoreFixture;
let segment: string;
before(async () => {
  fixture = await storeWith({ orders: MANY });
  const folder = join(fixture.store, 'objects', 'segments');
  segment = join(folder, readdirSync(folder).find((name) => name.endsWith('.seg')) ?? '');
});
after(() => {
  fixture.remove();
});

function shell(script: string, env: Readonly<Record<string, string>> = {}): Promise<CliResult> {
  const child = spawn('bash', ['-c', script], { env: { ...process.env, ...env } });
  child.stdin.end();
  return finished(child);
}

/** Both outputs of the command as a terminal gets them. */
async function onTerminal(command: string, env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await shell(`script --quiet --return --command "$COMMAND" /dev/null`, {
    COMMAND: command,
    ...env,
  });
  return stdout;
}

suite('output', () => {
  for (const [args, env] of [
    ['ls', { FORCE_COLOR: '1', TERM: 'xterm-256color' }],
    ['ingest --help', { FORCE_COLOR: '1', TERM: 'xterm-256color' }],
    ['nonsense', { FORCE_COLOR: '1', NO_COLOR: '1', TERM: 'xterm-256color' }],
  ] as const) {
    test(`in a pipe has no escapes: ${args}`, async () => {
      const { stdout, stderr } = await shell(`${MILLRACE} ${args} ${fixture.store}`, env);
      assert.doesNotMatch(stdout + stderr, ESCAPE);
      assert.notEqual(stdout + stderr, '');
    });
  }

  test('on a terminal has no colours, and long work shows how far it is', { skip: noTerminal }, async () => {
    const verified = await onTerminal(`${MILLRACE} verify ${fixture.store}`, { TERM: 'xterm', FORCE_COLOR: '1' });
    assert.match(verified, /verify {2}[#-]{30} {2}\d+ %/);
    assert.match(verified, /intact: 40,000 records/);
    assert.doesNotMatch(verified, COLOUR);
  });

  test('on a terminal that cannot move its cursor has no progress', { skip: noTerminal }, async () => {
    const verified = await onTerminal(`${MILLRACE} verify ${fixture.store}`, { TERM: 'dumb' });
    assert.equal(verified.replaceAll('\r', '').split('\n').length, 2);
    assert.doesNotMatch(verified, ESCAPE);
  });
});

suite('a reader that leaves early ends the command quietly', () => {
  for (const [command, reader] of [
    ['read STORE orders', 'head -1'],
    ['read STORE orders --json --follow', 'head -1'],
    ['ls STORE', 'true'],
    ['dump SEGMENT --json', 'head -c 1'],
    ['verify STORE', 'true'],
    ['--help', 'head -1'],
  ] as const) {
    test(`${command} | ${reader}`, async () => {
      const args = command.replace('STORE', fixture.store).replace('SEGMENT', segment);
      const script = `${MILLRACE} ${args} | ${reader} > /dev/null; echo "\${PIPESTATUS[@]}"`;
      const { stdout, stderr } = await shell(script);
      assert.deepEqual({ stdout, stderr }, { stdout: '0 0\n', stderr: '' });
    });
  }
});

test('an output that cannot be written is a failure with the reason', async (t) => {
  const { code: hasFull } = await shell('test -c /dev/full');
  if (hasFull !== 0) {
    t.skip('there is no /dev/full here');
    return;
  }
  const { code, stderr } = await shell(`${MILLRACE} ls ${fixture.store} > /dev/full`);
  assert.equal(code, 1);
  assert.match(stderr, /^millrace: ERR_MILLRACE_[A-Z_]+: ENOSPC[^\n]+\n$/);
});
