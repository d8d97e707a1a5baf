/**
 * The process that is going to be killed: appends without a pause, by itself and through lanes that come and go, and
 * takes one backup after the other. Arguments: the store's directory, and the target: a directory, or options of S3 as
 * JSON. Prints how many records are acknowledged before each backup, and its number after.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { attachProducer, open } from '../../src/index.ts';
import { s3 } from '../../src/s3/index.ts';
import type { S3Options } from '../../src/object/s3/options.ts';

const RING = { slots: 2, slotBytes: 64 * 1024 };
const GROUP = 20;
/** Calls of `appendMany` before a lane is given back. */
const LANE_TURNS = 5;

/**
 * Milliseconds between appends where the target is a bucket: what is appended without a pause leaves more segments than
 * a bucket takes, and all of them are read when the backups are checked.
 */
const PAUSE = 20;

const [dir = '', place = ''] = process.argv.slice(2);
const target = place.startsWith('{') ? s3(JSON.parse(place) as S3Options) : place;
const store = await open({ dir, wal: { ...RING, flushInterval: 50 } });
const own = await store.stream('own');
const acknowledged = {
  own: (await own.info()).nextOffset,
  lane: (await (await store.stream('lane')).info()).nextOffset,
};

async function append(to: { appendMany(values: string[]): Promise<number> }, name: 'own' | 'lane'): Promise<void> {
  await to.appendMany(Array.from({ length: GROUP }, (_, index) => `record ${acknowledged[name] + index}`));
  acknowledged[name] += GROUP;
  if (typeof target !== 'string') await sleep(PAUSE);
}

async function appendThroughOwn(): Promise<never> {
  for (;;) await append(own, 'own');
}

async function appendThroughLanes(): Promise<never> {
  for (;;) {
    const producer = await attachProducer(await store.producer(RING));
    const stream = await producer.stream('lane');
    for (let turn = 0; turn < LANE_TURNS; turn += 1) await append(stream, 'lane');
    await producer.close();
  }
}

async function backUp(): Promise<never> {
  for (;;) {
    const before = acknowledged.own + acknowledged.lane;
    process.stdout.write(`start ${before}\n`);
    const { backup } = await store.backup(target, { keep: 3 });
    process.stdout.write(`done ${backup} ${before}\n`);
    if (backup % 3 === 0) void store.compact({ force: true });
  }
}

await Promise.all([appendThroughOwn(), appendThroughLanes(), backUp()]);
