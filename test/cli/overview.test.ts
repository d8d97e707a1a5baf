import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { StreamInfo } from '../../src/index.ts';
import { CliHost } from './cli-process.ts';
import { storeWith, withStore } from './store-fixture.ts';

const host = new CliHost();
after(() => {
  host.end();
});

suite('ls', () => {
  test('lists streams by name with what they hold', async () => {
    const fixture = await storeWith({ b: ['12345', '1'], a: [] });
    const { streams } = JSON.parse(await host.succeed(['ls', fixture.store, '--json'])) as { streams: StreamInfo[] };
    assert.deepEqual(
      streams.map(({ name, records, userBytes, nextOffset }) => ({ name, records, userBytes, nextOffset })),
      [
        { name: 'a', records: 0, userBytes: 0, nextOffset: 0 },
        { name: 'b', records: 2, userBytes: 6, nextOffset: 2 },
      ],
    );
    const [heading, first, second, ...rest] = (await host.succeed(['ls', fixture.store])).split('\n');
    assert.match(heading ?? '', /^stream +records/);
    assert.match(first ?? '', /^a +0 +0 +0 +0 B/);
    assert.match(second ?? '', /^b +2 +0 +2 +6 B/);
    assert.deepEqual(rest, ['']);
    fixture.remove();
  });

  test('says that a store is empty', async () => {
    const fixture = await storeWith({});
    assert.equal(await host.succeed(['ls', fixture.store]), 'no streams\n');
    assert.deepEqual(JSON.parse(await host.succeed(['ls', fixture.store, '--json'])), {
      directory: fixture.store,
      streams: [],
      unflushedRecords: 0,
    });
    fixture.remove();
  });

  test('prints no colours and no control characters', async () => {
    const fixture = await storeWith({ 'stream with spaces': ['x'] });
    for (const args of [['ls'], ['info', 'stream with spaces'], ['verify']]) {
      const [command = '', ...rest] = args;
      assert.doesNotMatch(await host.succeed([command, fixture.store, ...rest]), /[^\P{Cc}\n]/u);
    }
    fixture.remove();
  });
});

suite('info', () => {
  test('prints what the library says of the stream', async () => {
    const fixture = await storeWith({ values: ['one', 'three'] });
    const expected = await withStore({ dir: fixture.store, readOnly: true }, async (store) =>
      (await store.stream('values')).info(),
    );
    assert.deepEqual(JSON.parse(await host.succeed(['info', fixture.store, 'values', '--json'])), {
      ...expected,
      consumers: 0,
      unflushedRecords: 0,
    });
    assert.equal(expected.records, 2);
    fixture.remove();
  });

  test('prints names and values for people', async () => {
    const fixture = await storeWith({ values: [{ value: 'one', timestamp: 0 }] });
    await withStore({ dir: fixture.store }, async (store) => {
      await store.stream('values', {
        retention: { maxBytes: 5_000_000, maxAge: 4_000_000_000_000 },
        cleanup: 'compact',
      });
    });
    const text = await host.succeed(['info', fixture.store, 'values']);
    assert.match(text, /^stream +values$/m);
    assert.match(text, /^first timestamp +1970-01-01T00:00:00.000Z$/m);
    assert.match(text, /^retention +5\.0 MB, 4,000,000,000,000 ms$/m);
    assert.match(text, /^cleanup +compact$/m);
    fixture.remove();
  });
});
