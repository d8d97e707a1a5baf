import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamOptions } from '../../src/index.ts';
import { configOf } from '../../src/stream/stream-options.ts';
import { coded, openStore, StoreFolder } from '../support/test-store.ts';

const DEFAULTS = { compression: 'lz4', cleanup: 'delete', retention: {} };

test('a new stream takes the defaults for what is left out', async (t) => {
  const store = await openStore(t);
  assert.deepEqual((await store.stream('a')).config, DEFAULTS);
  const given = { compression: 'none', retention: { maxBytes: 5 }, cleanup: 'compact', deletionDeadline: 9 } as const;
  assert.deepEqual((await store.stream('b', given)).config, given);
});

test('an existing stream takes over the options given and keeps the others, also after a reopening', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  await store.stream('a', { compression: 'none', retention: { maxAge: 1_000 } });
  await store.stream('a');
  const stream = await store.stream('a', { cleanup: 'compact' });
  const expected = { compression: 'none', retention: { maxAge: 1_000 }, cleanup: 'compact' };
  assert.deepEqual(stream.config, expected);
  await stream.configure({ retention: { maxBytes: 7 } });
  const configured = { ...expected, retention: { maxBytes: 7 } };
  assert.deepEqual(stream.config, configured);
  assert.deepEqual((await stream.info()).config, configured);
  await store.close();
  assert.deepEqual((await (await folder.open()).stream('a')).config, configured);
});

test('the codec may change while records are in the ring, and all of them stay readable', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  for (const compression of ['lz4', 'none', 'lz4', 'none'] as const) {
    await stream.configure({ compression });
    await stream.appendMany(['x'.repeat(5_000), compression]);
    await store.flush();
  }
  const values: (string | undefined)[] = [];
  for await (const { value } of stream.read()) values.push(value?.toString());
  assert.deepEqual(
    values.filter((_, index) => index % 2 === 1),
    ['lz4', 'none', 'lz4', 'none'],
  );
  assert.deepEqual((await store.verify()).problems, []);
});

test('options that mean nothing are refused by name, and the stream is neither made nor changed', async (t) => {
  const store = await openStore(t);
  const wrong: [object, string][] = [
    [{ compresion: 'lz4' }, 'compresion'],
    [{ compression: 'zstd' }, 'compression'],
    [{ cleanup: 'both' }, 'cleanup'],
    [{ retention: { maxByte: 1 } }, 'retention.maxByte'],
    [{ retention: { maxBytes: 0 } }, 'retention.maxBytes'],
    [{ retention: { maxBytes: '1' } }, 'retention.maxBytes'],
    [{ retention: { maxAge: NaN } }, 'retention.maxAge'],
    [{ retention: { maxAge: 1.5 } }, 'retention.maxAge'],
    [{ retention: null }, 'retention'],
    [{ retention: 5 }, 'retention'],
    [{ deletionDeadline: -1 }, 'deletionDeadline'],
  ];
  const stream = await store.stream('existing');
  for (const [options, mention] of wrong) {
    const refused = coded('ERR_MILLRACE_INVALID_ARGUMENT', mention);
    await assert.rejects(store.stream('new', options), refused);
    await assert.rejects(store.stream('existing', options), refused);
    await assert.rejects(stream.configure(options), refused);
  }
  for (const options of [null, 5, 'lz4']) {
    const refused = coded('ERR_MILLRACE_INVALID_ARGUMENT', 'options');
    await assert.rejects(store.stream('new', options as unknown as object), refused);
    await assert.rejects(stream.configure(options as unknown as object), refused);
  }
  assert.deepEqual(
    (await store.streams()).map(({ name, config }) => ({ name, config })),
    [{ name: 'existing', config: DEFAULTS }],
  );
});

test('an option given as undefined counts as left out', () => {
  const base = configOf({ compression: 'none', retention: { maxBytes: 5 } });
  const options = { compression: undefined, retention: undefined } as unknown as StreamOptions;
  assert.deepEqual(configOf(options, base), base);
});
