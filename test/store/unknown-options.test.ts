/** Options that no call knows: refused by every call that takes options, and nothing is done. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store, Stream } from '../../src/index.ts';
import { coded, openStore, StoreFolder, texts } from '../support/test-store.ts';

const refused = (...mentions: string[]): ((error: unknown) => true) =>
  coded('ERR_MILLRACE_INVALID_ARGUMENT', ...mentions);

type Call = (stream: Stream, store: Store) => unknown;

/** By what the message has to name. */
const CALLS: Readonly<Record<string, Call>> = {
  keey: (stream) => stream.append('v', { keey: 'k' } as never),
  keyy: (stream) => stream.appendMany(['fine', { value: 'v', keyy: 'k' } as never]),
  timestmp: (stream) => stream.publisher('p').append(1, 'v', { timestmp: 5 } as never),
  publisingId: (stream) => stream.publisher('p').appendMany([{ publishingId: 1, value: 'v', publisingId: 1 } as never]),
  form: (stream) => stream.read({ form: 0 } as never).next(),
  limt: (stream) => stream.readBatches({ limt: 1 } as never).next(),
  durabel: (stream) => stream.storeOffset('r', 0, { durabel: true } as never),
  durible: (stream) => stream.deleteOffset('r', { durible: true } as never),
  befor: (stream) => stream.truncate({ after: 0, befor: 0 } as never),
  'retention.maxByte': (stream) => stream.configure({ retention: { maxByte: 5 } } as never),
  cleanupp: (stream) => stream.configure({ cleanupp: 'compact' } as never),
  retntion: (_stream, store) => store.stream('b', { retntion: {} } as never),
  forse: (_stream, store) => store.compact({ forse: true } as never),
};

test('a misspelt option is refused by name, by every call, and nothing is done', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.append('first');
  for (const [name, call] of Object.entries(CALLS)) {
    await assert.rejects(async () => call(stream, store), refused(name, 'it has '), name);
  }
  assert.deepEqual(await texts(stream.read()), ['first']);
  assert.equal(await stream.publisher('p').lastPublishingId(), undefined);
  assert.deepEqual(await stream.offsets(), []);
});

test('so it is by open, in every group of options', async (t) => {
  const folder = new StoreFolder(t);
  for (const [name, options] of [
    ['slots', { slots: 4 }],
    ['wal.slotz', { wal: { slotz: 4 } }],
    ['tracking.budgt', { tracking: { budgt: 1 } }],
    ['compaction.targetByte', { compaction: { targetByte: 1 } }],
    ['diskless.intervl', { wal: false, diskless: { intervl: 1 } }],
  ] as const) {
    await assert.rejects(folder.open(options as never), refused(name, 'it has '), name);
  }
});

test('records that were read can be appended as they are', async (t) => {
  const store = await openStore(t);
  const [from, to] = [await store.stream('a'), await store.stream('b')];
  await from.appendMany([{ value: 'x', key: 'k', timestamp: 5 }, 'y']);
  for await (const batch of from.readBatches()) await to.appendMany([...batch]);
  assert.deepEqual(await texts(to.read()), ['x', 'y']);
  assert.deepEqual([(await to.get(0))?.timestamp, String((await to.get(0))?.key)], [5, 'k']);
});
