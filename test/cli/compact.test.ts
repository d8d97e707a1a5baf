import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { CliHost } from './cli-process.ts';
import { startWriter, storeWith, type StoreFixture, withStore } from './store-fixture.ts';

const host = new CliHost();
after(() => {
  host.end();
});

/** A store whose stream lies in many small segments, one record each. */
async function scattered(records: number, cleanup: 'delete' | 'compact'): Promise<StoreFixture> {
  const fixture = await storeWith({});
  await withStore({ dir: fixture.store, compaction: false }, async (store) => {
    const stream = await store.stream('values', { cleanup });
    for (let index = 0; index < records; index += 1) {
      await stream.append(`value ${index}`, { key: `key ${index % 2}` });
      await store.flush();
    }
  });
  return fixture;
}

async function segmentsOf(fixture: StoreFixture): Promise<number> {
  const info = await host.succeed(['info', fixture.store, 'values', '--json']);
  return (JSON.parse(info) as { segments: number }).segments;
}

suite('compact', () => {
  test('does nothing while nothing is due', async () => {
    const fixture = await scattered(3, 'delete');
    assert.equal(await host.succeed(['compact', fixture.store]), 'nothing was due\n');
    assert.equal(await segmentsOf(fixture), 3);
    fixture.remove();
  });

  test('--force merges segments whatever their age, and changes no record', async () => {
    const fixture = await scattered(6, 'delete');
    const before = await host.succeed(['read', fixture.store, 'values', '--json']);
    const result = JSON.parse(await host.succeed(['compact', fixture.store, '--force', '--json'])) as Record<
      string,
      number
    >;
    assert.deepEqual([result['inputs'], result['recordsDropped']], [6, 0]);
    assert.ok((result['deletingBytes'] ?? 0) > 0);
    assert.equal(await segmentsOf(fixture), 1);
    assert.equal(await host.succeed(['read', fixture.store, 'values', '--json']), before);
    assert.match(await host.succeed(['verify', fixture.store]), /^intact: 6 records /);
    fixture.remove();
  });

  test('keeps the latest record of each key where the stream is configured so', async () => {
    const fixture = await scattered(6, 'compact');
    await host.succeed(['compact', fixture.store, '--force', '--stream', 'values']);
    assert.equal(await host.succeed(['read', fixture.store, 'values']), 'value 4\nvalue 5\n');
    fixture.remove();
  });

  test('needs the store for itself, and a stream that exists', async () => {
    const fixture = await storeWith({});
    const { code, stderr } = await host.run(['compact', fixture.store, '--stream', 'missing']);
    assert.equal(code, 1);
    assert.match(stderr, /^millrace: ERR_MILLRACE_STREAM_NOT_FOUND: [^\n]+\n$/);
    const writer = await startWriter(fixture.store, 'values', 1, 0);
    const refused = await host.run(['compact', fixture.store]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^millrace: ERR_MILLRACE_LOCKED: [^\n]+\n$/);
    await writer.kill();
    fixture.remove();
  });
});
