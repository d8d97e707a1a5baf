/** better-sqlite3: SQLite on the calling thread, a transaction for each group. */
import { join } from 'node:path';
import { loadPackage } from '../packages.ts';
import type { Peer } from '../peer.ts';

/** What is used of the package. */
type Sqlite = new (path: string) => Database;

interface Database {
  pragma(text: string): unknown;
  exec(text: string): void;
  prepare(text: string): Statement;
  transaction<Arguments extends unknown[]>(work: (...given: Arguments) => void): (...given: Arguments) => void;
  close(): void;
}

interface Statement {
  run(...values: unknown[]): unknown;
  get(...values: unknown[]): Row | undefined;
  iterate(...values: unknown[]): Iterable<Row>;
}

interface Row {
  readonly sequence: number | null;
  readonly value: Buffer;
}

/** One stream is a table by itself; many share one, in the order of arrival, with an index. */
const SINGLE = 'CREATE TABLE IF NOT EXISTS records (sequence INTEGER PRIMARY KEY, value BLOB NOT NULL)';
const MANY = `CREATE TABLE IF NOT EXISTS records
  (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, sequence INTEGER NOT NULL, value BLOB NOT NULL,
  UNIQUE (stream, sequence))`;

export const betterSqlite3: Peer = {
  name: 'better-sqlite3',
  packages: ['better-sqlite3'],
  guarantee: 'on disk: journal_mode WAL, synchronous FULL, a transaction a group',
  durable: true,
  groups: 1,
  reads: true,
  open: async ({ dir, streams, acknowledged }) => {
    const Database = loadPackage<Sqlite>('better-sqlite3');
    const database = new Database(join(dir, 'log.sqlite'));
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    database.exec(streams === 1 ? SINGLE : MANY);
    const insert = database.prepare(
      streams === 1
        ? 'INSERT INTO records (sequence, value) VALUES (?, ?)'
        : 'INSERT INTO records (sequence, value, stream) VALUES (?, ?, ?)',
    );
    const newest = database.prepare('SELECT max(sequence) AS sequence, NULL AS value FROM records');
    const one = database.prepare('SELECT sequence, value FROM records WHERE sequence = ?');
    const every = database.prepare('SELECT sequence, value FROM records ORDER BY sequence');
    const countAll = (): number => (newest.get()?.sequence ?? -1) + 1;
    const next = new Array<number>(streams).fill(0);
    next[0] = countAll();
    const insertGroup = database.transaction((values: readonly Buffer[], firstStream: number) => {
      for (let index = 0; index < values.length; index += 1) {
        const stream = (firstStream + index) % streams;
        if (streams === 1) insert.run(next[0]!++, values[index]);
        else insert.run(next[stream]!++, values[index], stream);
      }
    });
    return {
      append: (values, firstStream) => {
        insertGroup(values, firstStream);
        acknowledged(values.length);
      },
      count: async () => countAll(),
      get: (index) => one.get(index)?.value,
      scan: async (visit) => {
        for (const { value } of every.iterate()) visit(value);
      },
      close: async () => {
        database.close();
      },
    };
  },
};
