/**
 * How the golden stores come about: small stores that have between them everything the formats can hold, made through
 * the public interface as a user would. Each recipe leaves a directory as a closed or a killed process leaves it.
 */
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { open, type OpenOptions, type RecordInput, type Store } from '../../src/index.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { DIRECTORY, EVENTFUL, openOver } from '../coordinator/fixture.ts';

/** Far from any age at which something happens by itself. */
const NEVER = 3_600_000;
const START = 1_700_000_000_000;
const RING = { slots: 3, slotBytes: 64 * 1024, flushInterval: NEVER };

export interface Recipe {
  readonly name: string;
  /** What the store is there for. */
  readonly holds: string;
  readonly make: (dir: string, scratch: string) => Promise<void>;
}

/** Records with keys, without keys, empty, tombstones, text that compresses and text that does not. */
function mixed(count: number, from = 0): RecordInput[] {
  return Array.from({ length: count }, (_, index): RecordInput => {
    const number = from + index;
    const timestamp = START + number * 1_000;
    if (number % 7 === 3) return { value: null, key: `key ${number % 5}`, timestamp };
    if (number % 7 === 5) return { value: '', timestamp };
    if (number % 7 === 6) return { value: Buffer.from([0, 255, number, 10, 128]), key: '', timestamp };
    return { value: `record ${number} ${'mill '.repeat(number % 12)}`, key: `kéy ${number % 5}`, timestamp };
  });
}

async function opened(
  dir: string,
  options: Partial<OpenOptions>,
  work: (store: Store) => Promise<void>,
): Promise<void> {
  const store = await open({ dir, wal: RING, compaction: false, ...options });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

/** Segments with every codec, a trailer, a delta, records of two epochs; consumers and publishers. */
async function fillSegments(store: Store): Promise<void> {
  const orders = await store.stream('orders', { retention: { maxBytes: 1_000_000 } });
  const plain = await store.stream('plain', { compression: 'none' });
  const tracked = await store.stream('tracked only');
  await orders.appendMany(mixed(20));
  await orders.publisher('sensor-7').append(41, 'published', { timestamp: START });
  await orders.appendMany(mixed(20, 20));
  await plain.appendMany(mixed(12));
  await tracked.append('one record', { timestamp: START });
  await orders.storeOffset('billing', 17, { durable: true });
  await orders.storeOffset('audit', 3, { durable: true });
  await store.flush();
  await orders.truncate({ after: 35 });
  await orders.appendMany(mixed(6, 36));
  await orders.deleteOffset('audit', { durable: true });
  await tracked.storeOffset('reader', 0, { durable: true });
  await store.flush();
  await orders.trim(4);
}

async function makeClean(dir: string): Promise<void> {
  await opened(dir, {}, fillSegments);
}

/** As `clean`, and then the ring goes around, records are in flight in two fillings, and the process is killed. */
async function makeKilled(dir: string, scratch: string): Promise<void> {
  await opened(scratch, {}, async (store) => {
    await fillSegments(store);
    const orders = await store.stream('orders');
    const plain = await store.stream('plain');
    // Fillings whose remains lie behind the blocks in flight.
    for (let filling = 0; filling < 3; filling += 1) {
      for (let index = 0; index < 12; index += 1) await plain.append(`stale ${filling} ${index}`, { timestamp: START });
      await store.flush();
    }
    // Killed before the flush of what follows was committed: the manifest and the objects are those of now.
    copyFiles(scratch, dir);
    for (let index = 0; index < 8; index += 1) {
      await orders.appendMany(mixed(3, 100 + 3 * index));
      await plain.append(`in flight ${index}`, { key: 'k', timestamp: START + index });
    }
    await orders.storeOffset('billing', 44, { durable: true });
    await orders.truncate({ after: 50 });
    await orders.publisher('sensor-7').append(42, 'published again', { timestamp: START });
    await orders.appendMany(mixed(2, 200));
    rmSync(join(dir, 'wal'), { recursive: true });
    copyFiles(join(scratch, 'wal'), join(dir, 'wal'));
  });
}

/** Two rounds of keys, merged and key-compacted: sparse offsets, a tombstone, a tracking snapshot. */
async function makeCompacted(dir: string): Promise<void> {
  const compaction = { deleteGrace: 0, interval: NEVER };
  await opened(dir, { compaction }, async (store) => {
    const users = await store.stream('users', { cleanup: 'compact' });
    const events = await store.stream('events');
    for (let round = 0; round < 4; round += 1) {
      await users.appendMany(
        Array.from({ length: 10 }, (_, index) => ({
          key: `user ${(index * (round + 1)) % 10}`,
          value: index === 4 && round === 3 ? null : `profile ${round}.${index} ${'x'.repeat(30)}`,
          timestamp: START + round,
        })),
      );
      await events.appendMany(mixed(5, round * 5));
      await events.storeOffset('reader', round * 5, { durable: true });
      await events.publisher('gateway').append(round, `event ${round}`, { timestamp: START });
      await store.flush();
    }
    await store.compact({ force: true });
    await store.compact({ force: true });
  });
}

/** Offsets that only the commit assigned: relative runs. */
async function makeDiskless(dir: string): Promise<void> {
  await opened(dir, { wal: false }, async (store) => {
    const orders = await store.stream('orders');
    await orders.appendMany(mixed(20));
    await store.flush();
    await orders.appendMany(mixed(10, 20));
    await orders.publisher('sensor-7').append(41, 'published', { timestamp: START });
    await (await store.stream('plain', { compression: 'none' })).appendMany(mixed(4));
    await orders.storeOffset('billing', 9, { durable: true });
  });
}

/** A manifest alone: a snapshot with a row of every kind, and a log with an event of every kind. */
async function makeManifest(dir: string): Promise<void> {
  const clock = new ManualClock(1_000_000);
  const fileSystem = new SimulatedDisk({ directories: [dirname(DIRECTORY)] });
  const first = await openOver(fileSystem, { clock });
  for (const step of EVENTFUL) await step(first, clock);
  await first.close();
  // The first change behind the bound writes everything so far into a snapshot.
  const swapping = await openOver(fileSystem, { clock, logBytesMin: 1 });
  await swapping.createStream('after the snapshot', { compression: 'lz4', retention: {}, cleanup: 'delete' });
  await swapping.close();
  const last = await openOver(fileSystem, { clock });
  await last.createStream('in the log', { compression: 'none', retention: { maxAge: 5 }, cleanup: 'compact' });
  const [stream] = await last.streams();
  await last.storeOffsets(stream!.streamId, new Map([['last reader', 8]]));
  // Killed: closing would append the block that guards the last one.
  for (const name of fileSystem.listSync(DIRECTORY)) {
    const path = join(dir, 'manifest', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, fileSystem.contentOf(join(DIRECTORY, name)));
  }
}

export const RECIPES: readonly Recipe[] = [
  { name: 'clean', holds: 'a store that was closed: clean mark, every codec, trailer, delta, epochs', make: makeClean },
  { name: 'killed', holds: 'a store that was killed: records in flight, remains of fillings', make: makeKilled },
  { name: 'compacted', holds: 'merged segments with sparse offsets and a tracking snapshot', make: makeCompacted },
  { name: 'diskless', holds: 'a store without a WAL: relative runs', make: makeDiskless },
  { name: 'manifest', holds: 'a manifest with every kind of row and event', make: makeManifest },
];

/** Sockets and locks of the process that has it open stay behind. */
function copyFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.name.startsWith('LOCK')) continue;
    if (entry.isFile() || entry.isDirectory())
      cpSync(join(from, entry.name), join(to, entry.name), { recursive: true });
  }
}
