/** Arguments of the wrong type, which no compiler has kept away: every call answers them with a coded error. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { attachProducer, backups, open, type OpenOptions, restore, type Store, verifyBackup } from '../../src/index.ts';
import { serve } from '../../src/server.ts';
import type { Producer, ProducerStream, Stream } from '../../src/index.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { openStore, StoreFolder, texts } from '../support/test-store.ts';

/** By what a message may call them; objects without a prototype and symbols cannot even be turned into text. */
const VALUES: Readonly<Record<string, unknown>> = {
  '7n': 7n,
  text: 'x',
  digits: '1',
  NaN,
  negative: -1,
  fraction: 1.5,
  null: null,
  '2 ** 53': 2 ** 53,
  object: {},
  bare: Object.create(null),
  array: [],
  true: true,
  symbol: Symbol('s'),
  function: (): number => 1,
};
const OBJECTS = ['object', 'bare'];
const TEXTS = ['text', 'digits'];

/** What a call is given, as whatever the compiler wants of it. */
type Wrong = never;

interface Place {
  readonly store: Store;
  readonly stream: Stream;
  readonly producer: Producer;
  readonly lane: ProducerStream;
  /** A directory that is not there. */
  readonly missing: string;
}

type Call = (place: Place, value: Wrong) => unknown;

/** Calls by what they take, each with the values that are right for it. */
const CALLS: readonly (readonly [name: string, right: readonly string[], call: Call])[] = [
  ['get', [], ({ stream }, value) => stream.get(value)],
  ['json().get', [], ({ stream }, value) => stream.json().get(value)],
  ['trim', [], ({ stream }, value) => stream.trim(value)],
  ['truncate', [], ({ stream }, value) => stream.truncate(value)],
  ['truncate, after', ['negative'], ({ stream }, value) => stream.truncate({ after: value })],
  ['storeOffset', [], ({ stream }, value) => stream.storeOffset('r', value)],
  ['storeOffset, reference', TEXTS, ({ stream }, value) => stream.storeOffset(value, 99)],
  ['storeOffset, durable', ['true'], ({ stream }, value) => stream.storeOffset('r', 99, { durable: value })],
  ['deleteOffset', TEXTS, ({ stream }, value) => stream.deleteOffset(value)],
  ['queryOffset', TEXTS, ({ stream }, value) => stream.queryOffset(value)],
  ['read', OBJECTS, ({ stream }, value) => stream.read(value).next()],
  ['read, from', [], ({ stream }, value) => stream.read({ from: value }).next()],
  ['read, limit', [], ({ stream }, value) => stream.read({ limit: value }).next()],
  [
    'read, timestamp',
    ['negative', 'fraction', '2 ** 53'],
    ({ stream }, value) => stream.read({ from: { timestamp: value } }).next(),
  ],
  ['read, reference', TEXTS, ({ stream }, value) => stream.read({ from: { reference: value } }).next()],
  ['read, follow', ['true'], ({ stream }, value) => stream.read({ follow: value }).next()],
  ['read, signal', [], ({ stream }, value) => stream.read({ signal: value }).next()],
  ['read, skipped', ['function'], ({ stream }, value) => stream.read({ skipped: value }).next()],
  ['readBatches, from', [], ({ stream }, value) => stream.readBatches({ from: value }).next()],
  ['readBatches, reuse', ['true'], ({ stream }, value) => stream.readBatches({ reuse: value }).next()],
  ['readable, from', [], ({ stream }, value) => stream.readable({ from: value }).toArray()],
  ['append', [...TEXTS, 'null'], ({ stream }, value) => stream.append(value)],
  ['append, key', [...TEXTS, 'null'], ({ stream }, value) => stream.append('v', { key: value })],
  ['append, timestamp', ['negative'], ({ stream }, value) => stream.append('v', { timestamp: value })],
  ['append, signal', [], ({ stream }, value) => stream.append('v', { signal: value })],
  ['appendMany', ['array'], ({ stream }, value) => stream.appendMany(value)],
  ['appendMany, record', [...TEXTS, 'null'], ({ stream }, value) => stream.appendMany(['v', value])],
  ['appendMany, signal', [], ({ stream }, value) => stream.appendMany(['v'], { signal: value })],
  ['json().appendMany', ['array'], ({ stream }, value) => stream.json().appendMany(value)],
  ['json().appendMany, record', [], ({ stream }, value) => stream.json().appendMany([value])],
  ['publisher', TEXTS, ({ stream }, value) => stream.publisher(value)],
  ['publisher, id', [], ({ stream }, value) => stream.publisher('p').append(value, 'v')],
  ['publisher, records', ['array'], ({ stream }, value) => stream.publisher('p').appendMany(value)],
  ['configure', OBJECTS, ({ stream }, value) => stream.configure(value)],
  ['configure, maxBytes', [], ({ stream }, value) => stream.configure({ retention: { maxBytes: value } })],
  ['configure, deletionDeadline', ['null'], ({ stream }, value) => stream.configure({ deletionDeadline: value })],
  ['stream', TEXTS, ({ store }, value) => store.stream(value)],
  ['findStream', TEXTS, ({ store }, value) => store.findStream(value)],
  ['deleteStream', TEXTS, ({ store }, value) => store.deleteStream(value)],
  ['flush', OBJECTS, ({ store }, value) => store.flush(value)],
  ['flush, signal', [], ({ store }, value) => store.flush({ signal: value })],
  ['compact', OBJECTS, ({ store }, value) => store.compact(value)],
  ['compact, stream', TEXTS, ({ store }, value) => store.compact({ stream: value })],
  ['compact, force', ['true'], ({ store }, value) => store.compact({ force: value })],
  ['compact, signal', [], ({ store }, value) => store.compact({ signal: value })],
  ['objects', OBJECTS, ({ store }, value) => store.objects(value)],
  ['objects, state', [], ({ store }, value) => store.objects({ state: value })],
  ['objects, limit', [], ({ store }, value) => store.objects({ limit: value })],
  ['objects, after', TEXTS, ({ store }, value) => store.objects({ after: value })],
  ['describeObject', TEXTS, ({ store }, value) => store.describeObject(value)],
  ['removeOrphans', OBJECTS, ({ store }, value) => store.removeOrphans(value)],
  ['removeOrphans, minAge', ['2 ** 53'], ({ store }, value) => store.removeOrphans({ minAge: value })],
  ['setCompactionPaused', ['true'], ({ store }, value) => store.setCompactionPaused(value)],
  ['verify', [...OBJECTS, 'function'], ({ store }, value) => store.verify(value)],
  ['verify, signal', [], ({ store }, value) => store.verify({ signal: value })],
  ['verify, progress', ['function'], ({ store }, value) => store.verify({ progress: value })],
  ['backup', TEXTS, ({ store }, value) => store.backup(value)],
  ['backup, keep', [], ({ store, missing }, value) => store.backup(missing, { keep: value })],
  ['backup, signal', [], ({ store, missing }, value) => store.backup(missing, { signal: value })],
  ['backups', TEXTS, (_, value) => backups(value)],
  ['verifyBackup', TEXTS, (_, value) => verifyBackup(value)],
  ['verifyBackup, backup', [], ({ missing }, value) => verifyBackup(missing, { backup: value })],
  ['restore', TEXTS, ({ missing }, value) => restore(value, missing)],
  ['restore, options', TEXTS, ({ missing }, value) => restore(missing, value)],
  ['restore, objects', TEXTS, ({ missing }, value) => restore(missing, { dir: missing, objects: value })],
  ['producer', OBJECTS, ({ store }, value) => store.producer(value)],
  ['producer, slots', [], ({ store }, value) => store.producer({ slots: value })],
  ['producer, slotBytes', [], ({ store }, value) => store.producer({ slotBytes: value })],
  ['attachProducer', [], (_, value) => attachProducer(value)],
  ["a producer's stream", TEXTS, ({ producer }, value) => producer.stream(value)],
  ["a producer's append", [...TEXTS, 'null'], ({ lane }, value) => lane.append(value)],
  ["a producer's timestamp", ['negative'], ({ lane }, value) => lane.append('v', { timestamp: value })],
  ['serve', [], (_, value) => serve(value)],
  ['serve, options', OBJECTS, ({ store }, value) => serve(store, value)],
  ['serve, port', [], ({ store }, value) => serve(store, { port: value })],
  ['serve, allowedHosts', ['array'], ({ store }, value) => serve(store, { allowedHosts: value })],
  ['serve, onError', ['function'], ({ store }, value) => serve(store, { onError: value })],
  ['open', TEXTS, (_, value) => open(value)],
];

const OPEN_OPTIONS: readonly (readonly [name: string, right: readonly string[], of: (value: Wrong) => OpenOptions])[] =
  [
    ['readOnly', ['true'], (readOnly) => ({ readOnly })],
    ['wal.slots', [], (slots) => ({ wal: { slots } })],
    ['wal.flushInterval', [], (flushInterval) => ({ wal: { flushInterval } })],
    ['diskless.interval', [], (interval) => ({ wal: false, diskless: { interval } })],
    ['objects', TEXTS, (objects) => ({ objects })],
    ['coordinator', [], (coordinator) => ({ wal: false, coordinator })],
    ['maxRecordBytes', [], (maxRecordBytes) => ({ maxRecordBytes })],
    ['cacheBytes', ['2 ** 53'], (cacheBytes) => ({ cacheBytes })],
    ['tracking.budget', [], (budget) => ({ tracking: { budget } })],
    ['compaction.maxAge', [], (maxAge) => ({ compaction: { maxAge } })],
  ];

async function answerOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return 'no error';
  } catch (error) {
    return error;
  }
}

test('a value of the wrong type is answered with a coded error by every call, and changes nothing', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.append('first');
  const producer = await attachProducer(await store.producer());
  t.after(() => producer.close());
  const lane = await producer.stream('lane');
  const place: Place = { store, stream, producer, lane, missing: join(new StoreFolder(t).parent, 'missing') };
  const wrong: string[] = [];
  const judge = async (name: string, value: string, call: () => unknown): Promise<void> => {
    const answer = await answerOf(call);
    if (!isMillraceError(answer) || answer.kind !== 'invalid') wrong.push(`${name}, ${value}: ${String(answer)}`);
  };
  for (const [name, right, call] of CALLS) {
    for (const [value, given] of Object.entries(VALUES)) {
      if (!right.includes(value)) await judge(name, value, () => call(place, given as Wrong));
    }
  }
  for (const [name, right, of] of OPEN_OPTIONS) {
    for (const [value, given] of Object.entries(VALUES)) {
      if (right.includes(value)) continue;
      await judge(`open, ${name}`, value, () => open({ dir: place.missing, ...of(given as Wrong) }));
    }
  }
  assert.deepEqual(wrong, []);
  assert.deepEqual(await texts(stream.read()), ['first']);
  assert.deepEqual((await store.streams()).map((found) => found.name).sort(), ['a', 'lane']);
});
