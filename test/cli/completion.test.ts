import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { hasProgram } from '../support/child-processes.ts';
import { runCli, succeed } from './cli-process.ts';

suite('completion', () => {
  test('bash completes commands, options of the command, and paths', async () => {
    const script = await succeed(['completion', 'bash']);
    const complete = (...words: string[]): string[] => {
      const list = words.map((word) => `'${word}'`).join(' ');
      const state = `COMP_WORDS=(millrace ${list}); COMP_CWORD=${words.length}`;
      const ask = `${script}\n${state}; _millrace; echo "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = spawnSync('bash', ['-c', ask], { encoding: 'utf8', cwd: import.meta.dirname });
      assert.equal(stderr, '');
      return stdout.trim().split(' ');
    };
    assert.deepEqual(complete('comp'), ['compact', 'completion']);
    assert.deepEqual(complete('ingest', '--key'), ['--key-field']);
    assert.deepEqual(complete('backup', 'dir', '--k'), ['--keep']);
    assert.ok(complete('dump', 'completion').includes('completion.test.js'));
  });

  for (const [shell, mention] of [
    ['zsh', /'--key-field\[/],
    ['fish', /__fish_seen_subcommand_from ingest' -l key-field/],
  ] as const) {
    test(`the script for ${shell} names every command and its options`, async (t) => {
      const script = await succeed(['completion', shell]);
      assert.match(script, mention);
      if (!hasProgram(shell)) {
        t.diagnostic(`${shell} is not installed: its syntax was not checked`);
        return;
      }
      const { status, stderr } = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    });
  }

  test('another shell is a usage error that names those there are', async () => {
    const { code, stderr } = await runCli(['completion', 'tcsh']);
    assert.equal(code, 2);
    assert.match(stderr, /bash, zsh, fish/);
  });
});
