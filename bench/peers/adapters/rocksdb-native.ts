/** rocksdb-native: RocksDB, a log-structured merge tree. */
import { join } from 'node:path';
import { loadPackage } from '../packages.ts';
import { indexOfKey, keyBuffer, type Peer } from '../peer.ts';

/** What is used of the package. */
type RocksDb = new (path: string) => Database;

interface Database {
  ready(): Promise<void>;
  write(options: { capacity: number; autoDestroy: boolean }): WriteBatch;
  get(key: Buffer): Promise<Buffer | null>;
  iterator(range: { gte: Buffer; lt: Buffer }, options?: { reverse?: boolean; limit?: number }): AsyncIterable<Entry>;
  close(): Promise<void>;
}

interface WriteBatch {
  tryPut(key: Buffer, value: Buffer): void;
  flush(): Promise<void>;
}

interface Entry {
  readonly key: Buffer;
  readonly value: Buffer;
}

export const rocksdbNative: Peer = {
  name: 'rocksdb-native',
  packages: ['rocksdb-native'],
  guarantee: 'in the page cache: the binding has no sync',
  durable: false,
  groups: 2,
  reads: true,
  open: async ({ dir, streams, acknowledged, failed }) => {
    const database = new (loadPackage<RocksDb>('rocksdb-native'))(join(dir, 'rocks'));
    await database.ready();
    const all = { gte: keyBuffer(0, 0), lt: keyBuffer(1, 0) };
    const countAll = async (): Promise<number> => {
      for await (const { key } of database.iterator(all, { reverse: true, limit: 1 })) return indexOfKey(key) + 1;
      return 0;
    };
    const next = new Array<number>(streams).fill(0);
    next[0] = await countAll();
    return {
      append: (values, firstStream) => {
        const batch = database.write({ capacity: values.length, autoDestroy: true });
        for (let index = 0; index < values.length; index += 1) {
          const stream = (firstStream + index) % streams;
          batch.tryPut(keyBuffer(stream, next[stream]!++), values[index]!);
        }
        batch.flush().then(() => {
          acknowledged(values.length);
        }, failed);
      },
      count: countAll,
      get: async (index) => (await database.get(keyBuffer(0, index))) ?? undefined,
      scan: async (visit) => {
        for await (const { value } of database.iterator(all)) visit(value);
      },
      close: () => database.close(),
    };
  },
};
