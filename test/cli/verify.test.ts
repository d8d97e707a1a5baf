import assert from 'node:assert/strict';
import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import type { VerifyProblem } from '../../src/store/verify.ts';
import { CliHost } from './cli-process.ts';
import { blockOf, filesOf, firstFileOf, flipByte } from './damage.ts';
import { startWriter, storeWith, type StoreFixture } from './store-fixture.ts';

const host = new CliHost();
after(() => {
  host.end();
});

interface Report {
  readonly intact: boolean;
  readonly objects: number;
  readonly records: number;
  readonly unflushedRecords: number;
  readonly problems: readonly VerifyProblem[];
}

async function reportOf(fixture: StoreFixture): Promise<Report & { readonly code: number | null }> {
  const { code, stdout, stderr } = await host.run(['verify', fixture.store, '--json']);
  assert.equal(stderr, '');
  return { code, ...(JSON.parse(stdout) as Report) };
}

suite('verify', () => {
  test('an intact store is intact', async () => {
    const fixture = await storeWith({ values: ['a', 'b'], others: ['c'] });
    const { code, intact, records, problems } = await reportOf(fixture);
    assert.deepEqual({ code, intact, records, problems }, { code: 0, intact: true, records: 3, problems: [] });
    assert.match(await host.succeed(['verify', fixture.store]), /^intact: 3 records in \d segments? /);
    fixture.remove();
  });

  test('beside a running writer it counts what is in the log only', async () => {
    const fixture = await storeWith({});
    const writer = await startWriter(fixture.store, 'values', 2, 3);
    const { code, records, unflushedRecords, problems } = await reportOf(fixture);
    assert.deepEqual(
      { code, records, unflushedRecords, problems },
      { code: 0, records: 2, unflushedRecords: 3, problems: [] },
    );
    await writer.kill();
    fixture.remove();
  });

  test('a damaged byte in a segment is found, and named on a line', async () => {
    const fixture = await storeWith({ values: ['a'.repeat(1000)] });
    flipByte(firstFileOf(fixture.store, '.seg'), 200);
    const { code, stdout, stderr } = await host.run(['verify', fixture.store]);
    assert.deepEqual({ code, stderr }, { code: 1, stderr: '' });
    assert.match(stdout, /^damaged: segments\/[^\n]+\.seg: [^\n]+\n1 problem: /);
    const report = await reportOf(fixture);
    assert.deepEqual([report.code, report.intact, report.problems.length], [1, false, 1]);
    fixture.remove();
  });

  test('what a damaged segment held is named: of many streams the first few, and all for programs', async () => {
    const streams = Array.from({ length: 10 }, (_, index) => `s${index}`);
    const fixture = await storeWith(Object.fromEntries(streams.map((name) => [name, ['a', 'b']])));
    truncateSync(firstFileOf(fixture.store, '.seg'), 100);
    const { stdout } = await host.run(['verify', fixture.store]);
    const named = streams.slice(0, 8).map((name) => `${name} 0 to 1`);
    assert.match(stdout, new RegExp(`; it held ${named.join(', ')}, 2 more ranges\n`));
    const { problems } = await reportOf(fixture);
    assert.deepEqual(
      problems[0]?.held,
      streams.map((stream) => ({ stream, firstOffset: 0, nextOffset: 2 })),
    );
    fixture.remove();
  });

  test('a damaged segment of tracking alone held consumers', async () => {
    const fixture = await storeWith({ values: ['a', 'b'] });
    await host.succeed(['offsets', fixture.store, 'values', '--set', 'billing=1']);
    const [, tracking] = filesOf(fixture.store, '.seg');
    truncateSync(tracking as string, 100);
    assert.match((await host.run(['verify', fixture.store])).stdout, /; it held consumers of values\n/);
    fixture.remove();
  });

  test('a segment that is missing or cut is found', async () => {
    const fixture = await storeWith({ values: ['a'] });
    const segment = firstFileOf(fixture.store, '.seg');
    truncateSync(segment, 100);
    assert.equal((await reportOf(fixture)).code, 1);
    rmSync(segment);
    assert.equal((await reportOf(fixture)).code, 1);
    fixture.remove();
  });

  test('a missing, a cut and a damaged slot file of the log are found', async () => {
    const fixture = await storeWith({ values: ['a'] });
    const slot = join(fixture.store, 'wal', 'lane-000-slot-001.wal');
    flipByte(slot, 20);
    assert.match((await reportOf(fixture)).problems[0]?.where ?? '', /slot-001/);
    truncateSync(slot, 5_000);
    assert.match((await reportOf(fixture)).problems[0]?.where ?? '', /slot-001/);
    rmSync(slot);
    const { code, problems } = await reportOf(fixture);
    assert.equal(code, 1);
    assert.match(problems[0]?.problem ?? '', /missing/);
    fixture.remove();
  });

  test('an acknowledged block that is damaged in the log is found', async () => {
    const fixture = await storeWith({});
    const writer = await startWriter(fixture.store, 'values', 0, 10);
    await writer.kill();
    const { code, unflushedRecords } = await reportOf(fixture);
    assert.deepEqual([code, unflushedRecords], [0, 10]);
    const { file, position } = await blockOf(fixture, 4);
    flipByte(file, position + 100);
    const report = await reportOf(fixture);
    assert.deepEqual([report.code, report.problems.length], [1, 1]);
    assert.match(
      report.problems[0]?.problem ?? '',
      new RegExp(`^block \\d+ at ${position} was acknowledged and is damaged`),
    );
    fixture.remove();
  });

  test('a damaged identity or manifest fails with its code', async () => {
    for (const [file, position] of [
      ['STORE', 9],
      ['CURRENT', 40],
    ] as const) {
      const fixture = await storeWith({ values: ['a'] });
      flipByte(firstFileOf(fixture.store, file), position);
      const { code, stderr } = await host.run(['verify', fixture.store]);
      assert.equal(code, 1);
      assert.match(stderr, /^millrace: ERR_MILLRACE_MANIFEST_CORRUPT: [^\n]+\n$/);
      fixture.remove();
    }
  });
});
