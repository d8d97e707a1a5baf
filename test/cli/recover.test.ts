import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { CliHost } from './cli-process.ts';
import { blockOf, flipByte } from './damage.ts';
import { startWriter, storeWith, type StoreFixture } from './store-fixture.ts';

const host = new CliHost();
after(() => {
  host.end();
});

/** A killed store: ten records in the log, of which the block of the fifth is damaged. */
async function damagedStore(): Promise<StoreFixture> {
  const fixture = await storeWith({});
  const writer = await startWriter(fixture.store, 'values', 0, 10);
  await writer.kill();
  const { file, position } = await blockOf(fixture, 4);
  flipByte(file, position + 100);
  return fixture;
}

suite('recover', () => {
  test('refuses a damaged log, and names the way out', async () => {
    const fixture = await damagedStore();
    const { code, stdout, stderr } = await host.run(['recover', fixture.store]);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    assert.match(stderr, /^millrace: ERR_MILLRACE_WAL_CORRUPT: [^\n]+salvage[^\n]*\n$/);
    fixture.remove();
  });

  test('with --salvage skips what is damaged, and names the offsets that are lost', async () => {
    const fixture = await damagedStore();
    const printed = (await host.succeed(['recover', fixture.store, '--salvage'])).split('\n');
    assert.match(printed[0] ?? '', /^9 records recovered from \d blocks of the log$/);
    assert.deepEqual(printed.slice(1), ['1 damaged place of the log skipped', 'lost: values: offsets 4 to 4', '']);
    assert.equal((await host.succeed(['read', fixture.store, 'values'])).trim().split('\n').length, 9);
    assert.match(await host.succeed(['recover', fixture.store]), /^nothing to recover/);
    fixture.remove();
  });

  test('with --salvage and --json prints the same for programs', async () => {
    const fixture = await damagedStore();
    const report = JSON.parse(await host.succeed(['recover', fixture.store, '--salvage', '--json'])) as object;
    assert.deepEqual(report, {
      records: 9,
      blocks: 9,
      damages: 1,
      lost: [{ stream: 'values', firstOffset: 4, nextOffset: 5 }],
      lostTruncations: [],
    });
    fixture.remove();
  });
});
