/** Rounds of the janitor: its timer's, those that `compact()` asks for, and the one of a short process. */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { suite, test } from 'node:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SteadyTime } from '../../src/base/clock.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { open } from '../../src/index.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { Janitor } from '../../src/store/janitor.ts';
import { Trimming } from '../../src/store/trimming.ts';
import { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { HOUR, plain, World } from '../compaction/world.ts';
import { StoreFolder } from '../support/test-store.ts';

const OBJECTS = 3;

interface House {
  readonly janitor: Janitor;
  readonly world: World;
  /** Deletions that have reached the object store, and wait there. */
  readonly deletions: (() => void)[];
}

/** Objects whose grace is over, in an object store that deletes when it is told to. */
async function house(): Promise<House> {
  const world = await World.open();
  const streamId = await world.stream('s');
  for (let index = 0; index < OBJECTS; index += 1) await world.append({ streamId, records: plain(2) });
  await world.coordinator.deleteStream(streamId);
  world.clock.advance(HOUR);
  const deletions: (() => void)[] = [];
  const objects = {
    delete: async (keys: readonly string[]) => {
      await new Promise<void>((resolve) => deletions.push(resolve));
      return world.memory.delete(keys);
    },
    removeUnfinished: () => Promise.resolve(0),
  } as unknown as ObjectStore;
  const { coordinator, clock } = world;
  const nothing = (): Promise<void> => Promise.resolve();
  const trimming = new Trimming({ coordinator, clock, hasTruncations: () => false, flush: nothing, trimmed: nothing });
  return { janitor: new Janitor(coordinator, objects, trimming, new SteadyTime(clock)), world, deletions };
}

/** Lets deletions go, one after the other, until `work` has ended. */
async function deleteUntil(work: Promise<unknown>, { deletions }: House): Promise<void> {
  let over = false;
  void work.finally(() => (over = true));
  while (!over) {
    deletions.shift()?.();
    await nextTurn();
  }
  await work;
}

suite('rounds of the janitor at once', () => {
  test('delete each object once', async () => {
    const made = await house();
    const { janitor } = made;
    await deleteUntil(Promise.all([janitor.round(), janitor.round()]), made);
    assert.deepEqual([janitor.counters.deleted, janitor.counters.unconfirmed], [OBJECTS, 0]);
  });

  test('have all ended their deletions when whoever holds them goes on', async () => {
    const made = await house();
    const { janitor, deletions } = made;
    const rounds = Promise.all([janitor.round(), janitor.round()]);
    while (deletions.length === 0) await nextTurn();
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    // The one that came last ends first.
    deletions.pop()?.();
    let held = false;
    const hold = janitor.hold().then((release) => {
      held = true;
      return release;
    });
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    assert.ok(!held || deletions.length === 0, 'a deletion is under way');
    await deleteUntil(rounds, made);
    (await hold)();
  });
});

suite('a process that ends before the first round', () => {
  test('deletes what nobody needs any more as it closes', async (t) => {
    const folder = new StoreFolder(t);
    const options = { compaction: { deleteGrace: 0 } };
    const store = await folder.open(options);
    for (const name of ['replaced', 'kept']) {
      await (await store.stream(name)).append('a record');
      await store.flush();
    }
    const [replaced, kept] = await store.objects();
    await store.deleteStream('replaced');
    await store.close();
    const exists = (key = ''): boolean => existsSync(folder.path('objects', key));
    assert.deepEqual([exists(replaced?.key), exists(kept?.key)], [false, true]);
    const again = await folder.open(options);
    assert.deepEqual((await again.objects({ state: 'deleting' })).length, 0, 'and it is confirmed');
  });

  test('makes no round where one was made, or the disk has failed', async () => {
    const made = await house();
    const { janitor, world } = made;
    janitor.start(new SimulatedTime().process());
    await janitor.stop(false);
    assert.equal(janitor.counters.deleted, 0);
    await deleteUntil(janitor.round(), made);
    const { clock, coordinator } = world;
    const streamId = await world.stream('another');
    await world.append({ streamId, records: plain(2) });
    await coordinator.deleteStream(streamId);
    clock.advance(HOUR);
    await janitor.stop();
    assert.equal(janitor.counters.deleted, OBJECTS);
  });

  test('waits two seconds at most for an object store that does not answer', async () => {
    const { janitor, deletions } = await house();
    const time = new SimulatedTime();
    janitor.start(time.process());
    let stopped = false;
    const stopping = janitor.stop().then(() => (stopped = true));
    while (deletions.length === 0) await nextTurn();
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    assert.ok(!stopped);
    time.advance(2_000);
    await stopping;
    assert.equal(janitor.counters.deleted, 0);
  });

  test('closes in spite of a coordinator that does not answer', async (t) => {
    const { coordinator } = await World.open();
    let hangs = false;
    const answering: ProxyHandler<Coordinator> = {
      get: (target, name) => {
        const value = Reflect.get(target, name, target) as unknown;
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) =>
          hangs && name !== 'close' ? new Promise(() => undefined) : (value.apply(target, given) as unknown);
      },
    };
    const component = { open: () => Promise.resolve(new Proxy(coordinator, answering)) };
    const objects = new StoreFolder(t).parent;
    const store = await open({ wal: false, coordinator: component, objects: join(objects, 'objects') });
    await (await store.stream('s')).append('a record');
    hangs = true;
    await store.close();
    hangs = false;
    await assert.rejects(coordinator.streams(), { code: 'ERR_MILLRACE_CLOSED' });
  });
});
