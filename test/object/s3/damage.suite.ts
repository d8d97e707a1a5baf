/** Stores whose objects in S3 are damaged, exchanged, another store's or gone, as other programs can make them. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { viewOf, writeUint64 } from '../../../src/base/bytes.ts';
import { type ErrorCode, isMillraceError, type OpenOptions, type Store } from '../../../src/index.ts';
import { CHUNK_FIELD, CHUNK_VERSION } from '../../../src/segment/chunk-format.ts';
import {
  FOOTER_HEADER_BYTES,
  RUN_FIELD,
  SEGMENT_HEADER_BYTES,
  TAIL_BYTES,
  TAIL_FIELD,
} from '../../../src/segment/format.ts';
import { s3 } from '../../../src/s3/index.ts';
import type { S3Server } from '../../support/ceph-server.ts';
import { collect, numbered, StoreFolder } from '../../support/test-store.ts';
import { repairFooter } from '../../segment/fixture.ts';
import { BUCKET, freshOptions, largeBytes, rawClient } from './s3-fixture.ts';

const RECORDS = 10;

/** The objects of a stream. */
interface Pair {
  readonly older: string;
  readonly newer: string;
}

/** A store in a bucket that somebody else writes to as well. */
class Victim {
  readonly client: S3Client;
  readonly #folder: StoreFolder;
  readonly #options: ReturnType<typeof freshOptions>;

  constructor(t: TestContext, server: S3Server) {
    this.#folder = new StoreFolder(t);
    this.#options = freshOptions(server);
    this.client = rawClient(server);
    t.after(() => this.client.destroy());
  }

  open(options: Partial<OpenOptions> = {}): Promise<Store> {
    return this.#folder.open({ objects: s3(this.#options), compaction: false, ...options });
  }

  /** Two objects for each stream, ten records in each; their keys by stream. */
  async fill(streams: readonly string[], text: string): Promise<Map<string, Pair>> {
    const store = await this.open();
    const keys = new Map<string, Pair>();
    for (const name of streams) {
      const stream = await store.stream(name);
      for (const from of [0, RECORDS]) {
        await stream.appendMany(numbered(RECORDS, text, from));
        await store.flush();
      }
      const [older, newer] = (await store.objects()).map(({ key }) => key).slice(-2);
      keys.set(name, { older: older ?? assert.fail(), newer: newer ?? assert.fail() });
    }
    await store.close();
    return keys;
  }

  remoteKey(key: string): string {
    return `${this.#options.prefix}${key}`;
  }

  async bytes(key: string): Promise<Buffer> {
    const { Body } = await this.client.send(new GetObjectCommand({ Bucket: BUCKET, Key: this.remoteKey(key) }));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  }

  async put(key: string, body: Uint8Array): Promise<void> {
    await this.client.send(new PutObjectCommand({ Bucket: BUCKET, Key: this.remoteKey(key), Body: body }));
  }

  async change(key: string, edit: (bytes: Buffer) => Buffer): Promise<void> {
    await this.put(key, edit(await this.bytes(key)));
  }

  async delete(key: string): Promise<void> {
    await this.client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: this.remoteKey(key) }));
  }

  /** By the server, with all that lies beside the object. */
  async copy(from: Victim, key: string, to: string): Promise<void> {
    const CopySource = `${BUCKET}/${from.remoteKey(key)}`;
    await this.client.send(new CopyObjectCommand({ Bucket: BUCKET, Key: this.remoteKey(to), CopySource }));
  }
}

interface Damage {
  /** What the object is now. */
  readonly what: string;
  readonly make: (victim: Victim, keys: Pair, other: Victim, others: Pair) => Promise<void>;
  readonly code: string;
  /** Default only the newer one. */
  readonly both?: true;
  /** Nothing that a scan looks at. */
  readonly scans?: true;
}

const CORRUPT = 'ERR_MILLRACE_SEGMENT_CORRUPT';
const DAMAGES: readonly Damage[] = [
  { what: 'gone', code: 'ERR_MILLRACE_OBJECT_NOT_FOUND', make: (victim, { newer }) => victim.delete(newer) },
  { what: 'empty', code: CORRUPT, make: (victim, { newer }) => victim.put(newer, new Uint8Array(0)) },
  {
    what: 'cut in its chunks',
    code: CORRUPT,
    make: (victim, { newer }) => victim.change(newer, (bytes) => bytes.subarray(0, 200)),
  },
  {
    what: 'changed by a bit',
    code: CORRUPT,
    make: (victim, { newer }) =>
      victim.change(newer, (bytes) => {
        bytes[200] = (bytes[200] ?? 0) ^ 4;
        return bytes;
      }),
  },
  {
    what: 'one whose footer claims 2^40 records',
    code: CORRUPT,
    scans: true,
    make: (victim, { newer }) => victim.change(newer, claimRecords),
  },
  {
    what: 'of a newer format',
    code: 'ERR_MILLRACE_FORMAT_TOO_NEW',
    make: (victim, { newer }) =>
      victim.change(newer, (bytes) => {
        bytes.writeUInt16LE(CHUNK_VERSION + 1, SEGMENT_HEADER_BYTES + CHUNK_FIELD.version);
        return bytes;
      }),
  },
  {
    what: 'exchanged with its neighbour',
    code: CORRUPT,
    both: true,
    make: async (victim, { older, newer }) => {
      const bodies = [await victim.bytes(older), await victim.bytes(newer)] as const;
      await victim.put(older, bodies[1]);
      await victim.put(newer, bodies[0]);
    },
  },
  {
    what: "another store's at the same offsets, put there by a tool",
    code: 'ERR_MILLRACE_FOREIGN_FILE',
    make: async (victim, { newer }, other, others) => victim.put(newer, await other.bytes(others.newer)),
  },
  {
    what: "another store's at the same offsets, copied by the server",
    code: 'ERR_MILLRACE_FOREIGN_FILE',
    make: (victim, { newer }, other, others) => victim.copy(other, others.newer, newer),
  },
];

function claimRecords(bytes: Buffer): Buffer {
  const view = viewOf(bytes);
  const footer = Number(view.getBigUint64(bytes.length - TAIL_BYTES + TAIL_FIELD.footerPosition, true));
  writeUint64(view, footer + FOOTER_HEADER_BYTES + RUN_FIELD.records, 2 ** 40);
  repairFooter(bytes, footer);
  return bytes;
}

async function refused(what: string, work: Promise<unknown>, code: string, keys: readonly string[]): Promise<void> {
  await assert.rejects(
    work,
    (error) => {
      // A merge holds the footer against what was committed before it looks whose it is.
      const expected = isMillraceError(error, code as ErrorCode) || isMillraceError(error, CORRUPT);
      assert.ok(expected, `${what}: ${String(error)}`);
      assert.ok(
        keys.some((key) => error.message.includes(key)),
        `${what}: ${error.message}`,
      );
      return true;
    },
    what,
  );
}

/** Everybody who comes by the objects of the damage's stream. */
async function checkRefused(store: Store, { what, code, both, scans }: Damage, { older, newer }: Pair): Promise<void> {
  const damaged = both ? [older, newer] : [newer];
  const stream = await store.stream(what);
  const scan = collect(stream.read());
  if (scans) assert.equal((await scan).length, 2 * RECORDS);
  else await refused(what, scan, code, damaged);
  await refused(what, stream.get(RECORDS), code, damaged);
  if (!both) assert.equal((await collect(stream.read({ limit: RECORDS }))).length, RECORDS, 'what is whole is read');
  await refused(what, store.compact({ stream: what, force: true }), code, damaged);
}

export function s3DamageSuite(server: () => S3Server): void {
  describe('a damaged object in S3', () => {
    test('is refused by scans, point reads, merges and verify, and nothing is given up for it', async (t) => {
      const [victim, other] = [new Victim(t, server()), new Victim(t, server())];
      const streams = DAMAGES.map(({ what }) => what);
      const [keys, others] = [await victim.fill(streams, 'record '), await other.fill(streams, 'strange')];
      const damaged: string[] = [];
      for (const { what, both, make } of DAMAGES) {
        const [pair, strange] = [keys.get(what) ?? assert.fail(), others.get(what) ?? assert.fail()];
        await make(victim, pair, other, strange);
        damaged.push(...(both ? [pair.older] : []), pair.newer);
      }
      for (const options of [{ cacheBytes: 0 }, {}]) {
        const store = await victim.open(options);
        for (const damage of DAMAGES) await checkRefused(store, damage, keys.get(damage.what) ?? assert.fail());
        const { problems } = await store.verify();
        assert.deepEqual([...new Set(problems.map(({ where }) => where))].sort(), damaged.sort());
        assert.equal((await store.objects()).length, 2 * DAMAGES.length);
        await store.close();
      }
    });
  });

  describe('an object in S3', () => {
    test('is known as its own without a request beside those that bring its chunks', async (t) => {
      const victim = new Victim(t, server());
      const wal = { slots: 2, slotBytes: 1024 * 1024 };
      const before = await victim.open({ wal });
      const [large, small] = [await before.stream('large'), await before.stream('small')];
      for (let object = 0; object < 3; object += 1) {
        await large.appendMany(Array.from({ length: 10 }, (_, index) => largeBytes(40_000 + index)));
        await small.appendMany(numbered(10));
        await before.flush();
      }
      await before.close();
      for (const options of [{ cacheBytes: 0 }, {}]) {
        const store = await victim.open(options);
        const gets = (): number => store.stats().requests['read']?.requests['GetObject'] ?? 0;
        const opened = gets();
        assert.equal((await collect((await store.stream('small')).read())).length, 30);
        assert.equal(gets() - opened, 3, 'one for each object');
        await store.close();
      }
    });
  });
}
