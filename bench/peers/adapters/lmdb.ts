/** lmdb: a B+tree in a memory map, written by copy on write; transactions are batched on a thread of its own. */
import { join } from 'node:path';
import { loadPackage } from '../packages.ts';
import type { Peer } from '../peer.ts';

/** What is used of the package. */
interface Lmdb {
  readonly open: (options: { path: string; encoding: 'binary'; separateFlushed: boolean }) => Database;
}

interface Database {
  put(key: number, value: Buffer): Promise<boolean> & { readonly flushed: PromiseLike<unknown> };
  getBinary(key: number): Buffer | undefined;
  getRange(range: { start: number; end: number }): Iterable<{ value: Buffer }>;
  getKeysCount(range: { start: number; end: number }): number;
  close(): Promise<void>;
}

/** Keys are numbers: the stream in the upper bits, the record's index below. */
const STREAM_SPAN = 2 ** 40;

export const lmdb: Peer = {
  name: 'lmdb',
  packages: ['lmdb'],
  guarantee: 'on disk: `flushed` of the transaction (the promise of put itself comes before the sync)',
  durable: true,
  groups: 2,
  reads: true,
  open: async ({ dir, streams, acknowledged, failed }) => {
    const { open } = loadPackage<Lmdb>('lmdb');
    const database = open({ path: join(dir, 'log.mdb'), encoding: 'binary', separateFlushed: true });
    // The package notes in it what it was asked for, so that no range serves two questions.
    const all = (): { start: number; end: number } => ({ start: 0, end: STREAM_SPAN });
    const next = new Array<number>(streams).fill(0);
    next[0] = database.getKeysCount(all());
    return {
      append: (values, firstStream) => {
        let last: PromiseLike<unknown> | undefined;
        for (let index = 0; index < values.length; index += 1) {
          const stream = (firstStream + index) % streams;
          last = database.put(stream * STREAM_SPAN + next[stream]!++, values[index]!).flushed;
        }
        // Transactions are flushed in order: the last put of the group answers for all.
        last?.then(() => {
          acknowledged(values.length);
        }, failed);
      },
      count: async () => database.getKeysCount(all()),
      get: (index) => database.getBinary(index),
      scan: async (visit) => {
        for (const { value } of database.getRange(all())) visit(value);
      },
      close: () => database.close(),
    };
  },
};
