/** classic-level: LevelDB, a log-structured merge tree. */
import { join } from 'node:path';
import { loadPackage } from '../packages.ts';
import { indexOfKey, keyBuffer, type Peer } from '../peer.ts';

/** What is used of the package. */
interface ClassicLevelModule {
  ClassicLevel: new (
    path: string,
    options: { keyEncoding: 'buffer'; valueEncoding: 'buffer'; writeBufferSize: number },
  ) => Database;
}

interface Database {
  open(): Promise<void>;
  batch(operations: readonly { type: 'put'; key: Buffer; value: Buffer }[], options: { sync: boolean }): Promise<void>;
  get(key: Buffer): Promise<Buffer | undefined>;
  iterator(options: { gte: Buffer; lt: Buffer; reverse?: boolean; limit?: number }): DatabaseIterator;
  close(): Promise<void>;
}

interface DatabaseIterator {
  nextv(size: number): Promise<[Buffer, Buffer][]>;
  close(): Promise<void>;
}

/** Its own default of 4 MiB makes many small files at this rate. */
const WRITE_BUFFER_BYTES = 64 * 1_024 * 1_024;
const SCAN_AT_ONCE = 1_000;

export const classicLevel: Peer = {
  name: 'classic-level',
  packages: ['classic-level'],
  guarantee: 'on disk: batch with `sync: true` (its default is the page cache)',
  durable: true,
  groups: 2,
  reads: true,
  open: async ({ dir, streams, acknowledged, failed }) => {
    const { ClassicLevel } = loadPackage<ClassicLevelModule>('classic-level');
    const database = new ClassicLevel(join(dir, 'level'), {
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
      writeBufferSize: WRITE_BUFFER_BYTES,
    });
    await database.open();
    const all = { gte: keyBuffer(0, 0), lt: keyBuffer(1, 0) };
    const count = await countOf(database, all);
    const next = new Array<number>(streams).fill(0);
    next[0] = count;
    return {
      append: (values, firstStream) => {
        const operations = values.map((value, index) => {
          const stream = (firstStream + index) % streams;
          return { type: 'put' as const, key: keyBuffer(stream, next[stream]!++), value };
        });
        database.batch(operations, { sync: true }).then(() => {
          acknowledged(values.length);
        }, failed);
      },
      count: () => countOf(database, all),
      get: (index) => database.get(keyBuffer(0, index)),
      scan: async (visit) => {
        const iterator = database.iterator(all);
        for (let entries = await iterator.nextv(SCAN_AT_ONCE); entries.length > 0;) {
          for (const [, value] of entries) visit(value);
          entries = await iterator.nextv(SCAN_AT_ONCE);
        }
        await iterator.close();
      },
      close: () => database.close(),
    };
  },
};

async function countOf(database: Database, all: { gte: Buffer; lt: Buffer }): Promise<number> {
  const iterator = database.iterator({ ...all, reverse: true, limit: 1 });
  const [last] = await iterator.nextv(1);
  await iterator.close();
  return last === undefined ? 0 : indexOfKey(last[0]) + 1;
}
