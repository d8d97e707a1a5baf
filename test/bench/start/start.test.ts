/** The benchmark behind `npm start`, at a size that takes a moment. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Figures } from '../../../bench/start/report.ts';
import { open } from '../../../src/index.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const START = join(import.meta.dirname, '..', '..', '..', 'bench', 'start.js');

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function start(...args: readonly string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [START, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

suite('start', () => {
  test('kills, recovers, proves and reads back, and deletes what it made', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory.path, 'other'), 'precious');
    const { code, stdout, stderr } = await start('--bytes', '20MB', '--dir', directory.path);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    assert.match(stdout, /^ingest, killed at 5\d %|60 %/m);
    assert.match(stdout, /acknowledged records were there, whole and in order/);
    assert.deepEqual(readdirSync(directory.path), ['other']);
    directory.remove();
  });

  test('--keep leaves the store, and --json has the same figures', async () => {
    const directory = temporaryDirectory();
    const { code, stdout } = await start('--bytes', '10000000', '--dir', directory.path, '--keep', '--json');
    assert.equal(code, 0);
    const figures = JSON.parse(stdout) as Figures;
    const [crashed, proven, rest, readBack] = figures.phases;
    assert.equal(crashed?.records, figures.recovery.acknowledged);
    assert.equal(proven?.records, figures.recovery.acknowledged + figures.recovery.unreported);
    assert.equal(readBack?.records, (proven?.records ?? 0) + (rest?.records ?? 0));
    assert.ok(readBack?.bytes !== undefined && readBack.bytes >= 10_000_000);
    const store = await open({ dir: figures.directory, readOnly: true });
    assert.equal((await store.streams()).length, figures.streams);
    assert.equal((await store.verify()).records, readBack.records);
    await store.close();
    directory.remove();
  });

  for (const args of [['--bytes', 'much'], ['--bytes', '-5'], ['--bytes', '0'], ['--fast'], ['extra']]) {
    test(`${args.join(' ')} is a usage error`, async () => {
      const { code, stdout, stderr } = await start(...args);
      assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
      assert.match(stderr, /^npm start: [^]*usage: npm start/);
    });
  }
});
