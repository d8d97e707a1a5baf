import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { CliHost, runCli, succeed } from './cli-process.ts';
import { storeWith } from './store-fixture.ts';

const host = new CliHost();
after(() => {
  host.end();
});

suite('settings, consumers and the beginning of a stream', () => {
  test('configure changes what it names and keeps the rest', async () => {
    const fixture = await storeWith({ values: ['a'] });
    await host.succeed(['configure', fixture.store, 'values', '--max-bytes', '1000', '--max-age', '2000']);
    const changed = await host.succeed(['configure', fixture.store, 'values', '--max-age', 'none', '--json']);
    const { config } = JSON.parse(changed) as { config: object };
    assert.deepEqual(config, { compression: 'lz4', cleanup: 'delete', retention: { maxBytes: 1000 } });
    await host.succeed(['configure', fixture.store, 'values', '--deletion-deadline', '600000']);
    const lifted = await host.succeed(['configure', fixture.store, 'values', '--deletion-deadline', 'none', '--json']);
    assert.deepEqual((JSON.parse(lifted) as { config: object }).config, config);
    assert.equal((await host.run(['configure', fixture.store, 'missing', '--max-age', '1'])).code, 1);
    fixture.remove();
  });

  test('limits may have units', async () => {
    const fixture = await storeWith({ values: ['a'] });
    const limitsOf = async (age: string, bytes: string): Promise<unknown> => {
      const limits = ['--max-age', age, '--max-bytes', bytes, '--json'];
      const changed = await host.succeed(['configure', fixture.store, 'values', ...limits]);
      return (JSON.parse(changed) as { config: { retention: object } }).config.retention;
    };
    assert.deepEqual(await limitsOf('7d', '10GiB'), { maxAge: 604_800_000, maxBytes: 10 * 2 ** 30 });
    assert.deepEqual(await limitsOf('12h', '3MiB'), { maxAge: 43_200_000, maxBytes: 3 * 2 ** 20 });
    assert.deepEqual(await limitsOf('5m', '1KiB'), { maxAge: 300_000, maxBytes: 1_024 });
    assert.deepEqual(await limitsOf('90s', '2TiB'), { maxAge: 90_000, maxBytes: 2 * 2 ** 40 });
    assert.deepEqual(await limitsOf('250ms', '1'), { maxAge: 250, maxBytes: 1 });
    fixture.remove();
  });

  test('offsets are set, listed and deleted', async () => {
    const fixture = await storeWith({ values: ['a', 'b', 'c'] });
    await host.succeed(['offsets', fixture.store, 'values', '--set', 'a=b=1']);
    assert.deepEqual(JSON.parse(await host.succeed(['offsets', fixture.store, 'values', '--json'])), {
      stream: 'values',
      consumers: [{ reference: 'a=b', offset: 1, lag: 1 }],
    });
    assert.equal(await host.succeed(['offsets', fixture.store, 'values', '--delete', 'a=b']), 'no consumers\n');
    assert.equal((await host.run(['offsets', fixture.store, 'values', '--delete', 'a=b'])).code, 1);
    fixture.remove();
  });

  test('trim removes what is below the offset', async () => {
    const fixture = await storeWith({ values: ['a', 'b', 'c'] });
    assert.equal(
      await host.succeed(['trim', fixture.store, 'values', '2']),
      'values starts at offset 2 and holds 1 record\n',
    );
    assert.equal(await host.succeed(['read', fixture.store, 'values']), 'c\n');
    fixture.remove();
  });

  test('an ingest that fails at its first line makes no stream; marks and carriage returns can go', async () => {
    const fixture = await storeWith({});
    assert.equal((await runCli(['ingest', fixture.store, 'values', '--key-field', 'id'], '{')).code, 1);
    assert.equal(await host.succeed(['ls', fixture.store]), 'no streams\n');
    await succeed(['ingest', fixture.store, 'values', '--crlf'], '\ufeffone\r\ntwo\r\n');
    assert.equal(await host.succeed(['read', fixture.store, 'values']), 'one\ntwo\n');
    fixture.remove();
  });
});
