/** Everything that is compared, in the order in which it runs. */
import { asyncAppendOnlyLog } from './adapters/async-append-only-log.ts';
import { betterSqlite3 } from './adapters/better-sqlite3.ts';
import { classicLevel } from './adapters/classic-level.ts';
import { floor } from './adapters/floor.ts';
import { hypercore } from './adapters/hypercore.ts';
import { lmdb } from './adapters/lmdb.ts';
import { millrace, millraceMany } from './adapters/millrace.ts';
import { jetStream } from './adapters/nats.ts';
import { rabbitMq } from './adapters/rabbitmq.ts';
import { redis } from './adapters/redis.ts';
import { rocksdbNative } from './adapters/rocksdb-native.ts';
import type { Peer } from './peer.ts';

export const PEERS: readonly Peer[] = [
  floor,
  millrace,
  millraceMany,
  lmdb,
  betterSqlite3,
  classicLevel,
  asyncAppendOnlyLog,
  hypercore,
  rocksdbNative,
  redis,
  jetStream,
  rabbitMq,
];
