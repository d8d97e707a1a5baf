import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { argumentsOf, quick, SCENARIOS } from '../../bench/load/scenarios.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'bench', 'load', 'main.js');

function run(...args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
  return { code: status, stdout, stderr };
}

suite('the load tests', () => {
  test('have names of their own and a quick form', () => {
    const names = SCENARIOS.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const scenario of SCENARIOS) assert.ok(argumentsOf(quick(scenario)).includes(String(scenario.rate / 10)));
  });

  test('a name that is none is a usage error that says so', () => {
    const { code, stderr } = run('--only', 'nothing');
    assert.deepEqual([code, stderr], [2, 'npm run bench:load: no test has nothing in its name\n']);
  });

  test('a quick one leaves its page, its figures and a page that leads there', (t) => {
    const directory = temporaryDirectory();
    const { path } = directory;
    t.after(() => {
      directory.remove();
    });
    const out = join(path, 'out');
    const { code, stdout, stderr } = run('--quick', '--only', 'steady', '--dir', path, '--out', out);
    if (/is memory/.test(stderr)) {
      t.skip('the directory for temporary files is kept in memory');
      return;
    }
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^test +records\/s[^]*\nsteady +\d/);
    assert.ok(existsSync(join(out, 'steady.html')) && existsSync(join(out, 'steady.json')));
    assert.match(readFileSync(join(out, 'index.html'), 'utf8'), /href="steady\.html"/);
  });
});
