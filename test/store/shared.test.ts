import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { CoordinatorComponent } from '../../src/coordinator/component.ts';
import type { Coordinator, ObjectCommit } from '../../src/coordinator/coordinator.ts';
import { MillraceError } from '../../src/errors/millrace-error.ts';
import { open, type OpenOptions, type Store } from '../../src/index.ts';
import { postgres as describePostgres, type PostgresOptions } from '../../src/postgres.ts';
import { atEnd } from '../support/at-end.ts';
import { newSchema } from '../support/postgres-coordinators.ts';
import { findPostgres, PostgresServer } from '../support/postgres-server.ts';
import { checkStream, WriterProcess } from '../support/shared-world.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { collect } from '../support/test-store.ts';

const postgres = await findPostgres();

/** One shared store: where it is, and everything that was opened of it. */
class SharedStore {
  readonly database: PostgresOptions;
  readonly objects: string;
  readonly #opened: Store[] = [];

  constructor(t: TestContext, server: PostgresServer) {
    const directory = temporaryDirectory();
    this.objects = join(directory.path, 'objects');
    this.database = { ...server.options, schema: newSchema(), maxConnections: 4 };
    atEnd(t, async () => {
      await Promise.allSettled(this.#opened.map((store) => store.close()));
      directory.remove();
    });
  }

  async open(options: Partial<OpenOptions> = {}): Promise<Store> {
    const store = await open({
      wal: false,
      diskless: { interval: 10, slotBytes: 64 * 1024 },
      objects: this.objects,
      coordinator: describePostgres(this.database),
      compaction: false,
      ...options,
    });
    this.#opened.push(store);
    return store;
  }

  start(name: string, streams: readonly string[], records: number, publisher?: string): WriterProcess {
    const { database, objects } = this;
    return new WriterProcess({ name, streams, records, database, objects, ...(publisher && { publisher }) });
  }
}

/** Loses the answers of some commits that took place. */
function losingReplies(component: CoordinatorComponent, lost: (count: number) => boolean): CoordinatorComponent {
  let count = 0;
  const commitOf =
    (coordinator: Coordinator) =>
    async (commit: ObjectCommit): Promise<unknown> => {
      const answer = await coordinator.commitObject(commit);
      count += 1;
      if (lost(count)) throw new MillraceError('ERR_MILLRACE_UNAVAILABLE', 'the answer was lost');
      return answer;
    };
  return {
    open: async (times) => {
      const coordinator = await component.open(times);
      return new Proxy(coordinator, {
        get: (target, name) => {
          if (name === 'commitObject') return commitOf(target);
          const value = Reflect.get(target, name, target) as unknown;
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    },
  };
}

if ('missing' in postgres) {
  test('stores that several processes share', { skip: postgres.missing });
} else {
  describe('a store that several processes share', () => {
    let server: PostgresServer;
    before(async () => {
      server = await PostgresServer.start(postgres.bin);
    });
    after(() => server.stop());

    test('writes with the compression that another process has set', async (t) => {
      const shared = new SharedStore(t, server);
      const [one, other] = [await shared.open(), await shared.open()];
      const [mine, theirs] = [await one.stream('values'), await other.stream('values')];
      await mine.configure({ compression: 'none' });
      assert.equal(theirs.config.compression, 'lz4');
      assert.equal(await other.stream('values'), theirs, 'the same handle');
      assert.equal(theirs.config.compression, 'none');
      const value = 'x'.repeat(10_000);
      await theirs.append(value);
      assert.ok((await theirs.info()).storedBytes > value.length);
    });

    test('takes appends of three processes to the same streams, one of them killed, while it is compacted', async (t) => {
      const shared = new SharedStore(t, server);
      const store = await shared.open();
      const streams = ['a', 'b'];
      const survivors = [shared.start('p', streams, 400), shared.start('q', streams, 400)];
      const killed = shared.start('killed', streams, 100_000);
      const ends = [killed.killAfter(500), ...survivors.map((writer) => writer.finish())];
      let running = true;
      let merged = 0;
      const ended = Promise.all(ends).finally(() => (running = false));
      while (running) {
        merged += (await store.compact({ force: true })).jobs;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await ended;
      for (const name of streams) {
        const values = await checkStream(store, name, [...survivors, killed]);
        for (const writer of ['p', 'q']) {
          assert.equal(values.filter((value) => value.startsWith(`${writer}:`)).length, 400);
        }
      }
      assert.ok(killed.acknowledged.length >= 500);
      merged += (await store.compact({ force: true })).jobs;
      assert.ok(merged > 0, 'compaction had work');
      assert.deepEqual((await store.verify()).problems, []);
    });

    test('takes each record of a publisher once, though its process was killed and another one sends it again', async (t) => {
      const shared = new SharedStore(t, server);
      const killed = shared.start('sent', ['s'], 100_000, 'sensor');
      await killed.killAfter(200);
      const again = shared.start('sent', ['s'], 600, 'sensor');
      await again.finish();
      const store = await shared.open();
      const values = await checkStream(store, 's', [killed]);
      assert.ok(values.length >= 600);
      assert.equal(await (await store.stream('s')).publisher('sensor').lastPublishingId(), values.length - 1);
    });

    test('appends once though the answers of commits are lost', async (t) => {
      const shared = new SharedStore(t, server);
      const coordinator = losingReplies(describePostgres(shared.database), (count) => count % 2 === 1);
      const stream = await (await shared.open({ coordinator })).stream('s');
      const publisher = stream.publisher('p');
      for (let id = 0; id < 3; id += 1) {
        const [offset, published] = await Promise.all([stream.append('plain'), publisher.append(id, 'published')]);
        assert.deepEqual([offset, published], [2 * id, { offset: 2 * id + 1, duplicate: false }]);
      }
      assert.equal((await collect(stream.read())).length, 6);
    });

    test('refuses one of two processes that publish as the same publisher, and appends nothing twice', async (t) => {
      const shared = new SharedStore(t, server);
      const stores = [await shared.open(), await shared.open()];
      const publishers = await Promise.all(stores.map(async (store) => (await store.stream('s')).publisher('p')));
      const records = Array.from({ length: 20 }, (_, publishingId) => ({ publishingId, value: String(publishingId) }));
      assert.deepEqual(await Promise.all(publishers.map((publisher) => publisher.lastPublishingId())), [
        undefined,
        undefined,
      ]);
      const outcomes = await Promise.allSettled(publishers.map((publisher) => publisher.appendMany(records)));
      const refused = outcomes.findIndex(({ status }) => status === 'rejected');
      assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 1);
      const failure = outcomes[refused] as { readonly reason: MillraceError };
      assert.equal(failure.reason.code, 'ERR_MILLRACE_CONFLICT');
      assert.ok((stores[refused]?.stats().flush?.refusedRuns ?? 0) > 0);
      const again = await publishers[refused]!.appendMany([...records, { publishingId: 20, value: '20' }]);
      assert.deepEqual(
        again.map(({ duplicate }) => duplicate),
        [...records.map(() => true), false],
      );
      assert.deepEqual(
        (await collect((await (await shared.open()).stream('s')).read())).map(({ value }) => Number(value)),
        Array.from({ length: 21 }, (_, index) => index),
      );
    });

    test('shows each process what the others append, store and delete', async (t) => {
      const shared = new SharedStore(t, server);
      const [here, there] = [await shared.open(), await shared.open()];
      const mine = await here.stream('s');
      const theirs = await there.stream('s');
      const following = collect(mine.read({ follow: true, limit: 3 }));
      for (const value of ['a', 'b', 'c']) await theirs.append(value);
      assert.deepEqual(
        (await following).map(({ value }) => String(value)),
        ['a', 'b', 'c'],
      );
      await theirs.storeOffset('reader', 1, { durable: true });
      assert.equal(await mine.queryOffset('reader'), 1);
      await mine.storeOffset('reader', 2, { durable: true });
      assert.equal(await theirs.queryOffset('reader'), 2);
      await there.deleteStream('s');
      await assert.rejects(mine.append('late'), { code: 'ERR_MILLRACE_STREAM_NOT_FOUND' });
      const born = await here.stream('s');
      assert.equal(await born.append('again'), 0);
    });

    test('goes on by itself when the database has crashed and is back', async (t) => {
      const shared = new SharedStore(t, server);
      const store = await shared.open();
      const stream = await store.stream('s');
      const publisher = stream.publisher('p');
      const appends: Promise<unknown>[] = [];
      let next = 0;
      const append = setInterval(() => appends.push(publisher.append(next, `p:${next++}`)), 2);
      await new Promise((resolve) => setTimeout(resolve, 100));
      await server.halt('immediate');
      await server.restart();
      clearInterval(append);
      assert.equal((await Promise.all(appends)).length, next);
      assert.equal((await checkStream(store, 's', [])).length, next);
    });

    test('is read without being written', async (t) => {
      const shared = new SharedStore(t, server);
      const writer = await (await shared.open()).stream('s');
      await writer.append('a');
      const reader = await (await shared.open({ readOnly: true })).stream('s');
      assert.equal((await collect(reader.read())).length, 1);
      await assert.rejects(reader.append('b'), { code: 'ERR_MILLRACE_READ_ONLY' });
      await writer.append('b');
      assert.equal(String((await reader.get(1))?.value), 'b');
    });
  });
}
