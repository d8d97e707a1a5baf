/** Jobs that fail, at every step and in every way: the inputs stay whole, and nothing is left behind. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { FoundRun } from '../../src/coordinator/coordinator.ts';
import { isMillraceError, type MillraceError } from '../../src/errors/millrace-error.ts';
import { TRACKING_ENTRY } from '../../src/record/tracking-format.ts';
import { type FaultMoment, FaultyStore, faultyCoordinator, Steps } from './faults.ts';
import { DAY, keyed, latestOf, MINUTE, plain, type SeenRecord, World } from './world.ts';

const force = { force: true };
/** What every job goes through, and what therefore must have failed once. */
const STEPS = ['claimJob', 'findTrackingRuns', 'reserveObjects', 'read', 'create', 'write', 'commit', 'commitJob'];

interface Filled {
  readonly world: World;
  readonly ids: readonly [number, number];
}

/** Three objects with two streams, one of them keyed; two outputs, and tracking. */
async function filled(): Promise<Filled> {
  const world = await World.open();
  const ids = [await world.stream('plain'), await world.stream('keys', { cleanup: 'compact' })] as const;
  for (let index = 0; index < 3; index += 1) {
    const tracking = [{ type: TRACKING_ENTRY.offset, reference: 'reader', offset: index }];
    await world.append(
      { streamId: ids[0], records: plain(8, `round ${index}`, 3_000), tracking },
      { streamId: ids[1], records: keyed(9, 4) },
    );
  }
  return { world, ids };
}

async function readBoth({ world, ids }: Filled): Promise<SeenRecord[][]> {
  return [await world.read(ids[0]), await world.read(ids[1])];
}

async function failureOf(promise: Promise<unknown>): Promise<MillraceError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isMillraceError(error), String((error as Error).stack));
    return error;
  }
  return assert.fail('expected a failure');
}

/** Runs the compaction with step `failAt` failing. Returns the step's name; `undefined` when there are fewer steps. */
async function failAt(index: number, moment: FaultMoment, fatal: boolean): Promise<string | undefined> {
  const store = await filled();
  const { world } = store;
  const before = await readBoth(store);
  const steps = new Steps();
  Object.assign(steps, { failAt: index, moment, fatal });
  world.objects = new FaultyStore(world.memory, steps);
  const agent = world.agent({}, { coordinator: faultyCoordinator(world.coordinator, steps) });
  await agent.compact(force).catch(() => undefined);
  const expected = (now: SeenRecord[][]): void => {
    const name = `${moment} step ${index}, ${String(steps.hit)}`;
    assert.deepEqual(now[0], before[0], name);
    const present = new Set(now[1]?.map(({ offset }) => offset));
    assert.deepEqual(
      now[1],
      before[1]?.filter(({ offset }) => present.has(offset)),
      name,
    );
    for (const { offset } of latestOf(before[1] ?? [])) assert.ok(present.has(offset), name);
  };
  expected(await readBoth(store));
  // What a dead worker held is free once its lease and its reservations have ended.
  world.clock.advance(DAY);
  await world.coordinator.expire();
  await world.check();
  expected(await readBoth(store));
  world.objects = world.memory;
  await world.agent().compact(force);
  assert.deepEqual((await readBoth(store))[1], latestOf(before[1] ?? []));
  await world.check();
  return steps.hit;
}

suite('a job that fails', () => {
  for (const moment of ['before', 'after'] as const) {
    for (const fatal of [false, true]) {
      const how = `${moment === 'before' ? 'without' : 'after'} its effect${fatal ? ', with all that follow' : ''}`;
      test(`at any step ${how} leaves the inputs whole and no object behind`, async () => {
        const hit = new Set<string>();
        for (let index = 0; ; index += 1) {
          const step = await failAt(index, moment, fatal);
          if (step === undefined) break;
          hit.add(step);
        }
        for (const step of STEPS) assert.ok(hit.has(step), `${step} failed once`);
      });
    }
  }

  test('for a missing input says so, and leaves no output', async () => {
    const store = await filled();
    const { world } = store;
    const [key = ''] = await world.committedKeys();
    const content = await world.memory.read(key, 0, (await world.memory.size(key)) ?? 0);
    await world.memory.delete([key]);
    const agent = world.agent();
    const error = await failureOf(agent.compact(force));
    assert.equal(error.code, 'ERR_MILLRACE_OBJECT_NOT_FOUND');
    assert.ok(error.message.includes(key));
    assert.deepEqual([agent.counters.failures, agent.counters.lastError], [1, 'ERR_MILLRACE_OBJECT_NOT_FOUND']);
    assert.equal((await world.committedKeys()).length, 3);
    assert.equal((await world.storedKeys()).length, 2);
    const writer = await world.memory.create(key);
    await writer.write(content);
    await writer.commit();
    await agent.compact(force);
    await world.check();
  });

  test('for any damaged byte of a live run says so, and keeps the object', async () => {
    const store = await filled();
    const { world } = store;
    const [key = ''] = await world.committedKeys();
    const size = (await world.memory.size(key)) ?? 0;
    const runs = await world.coordinator.objectRuns(key);
    const content = Buffer.from(await world.memory.read(key, 0, size));
    for (const position of [...runs.flatMap(sampleOf), size - 12]) {
      const damaged = Buffer.from(content);
      damaged[position] = (damaged[position] ?? 0) ^ 0x10;
      await replace(world, key, damaged);
      const error = await failureOf(world.agent().compact(force));
      assert.equal(error.kind, 'corrupt', `byte ${position}`);
      assert.ok(error.message.includes(key));
      assert.equal((await world.committedKeys()).length, 3);
    }
    await replace(world, key, content.subarray(0, size - 4096));
    assert.equal((await failureOf(world.agent().compact(force))).code, 'ERR_MILLRACE_SEGMENT_CORRUPT');
    await replace(world, key, content);
    await world.agent().compact(force);
    await world.check();
  });

  test('for inputs that were swapped says which, and keeps both', async () => {
    const store = await filled();
    const { world } = store;
    const before = await readBoth(store);
    const keys = (await world.committedKeys()).slice(0, 2);
    const contents: Buffer[] = [];
    for (const key of keys) {
      contents.push(Buffer.from(await world.memory.read(key, 0, (await world.memory.size(key)) ?? 0)));
    }
    const put = async (order: readonly Buffer[]): Promise<void> => {
      for (const [index, key] of keys.entries()) await replace(world, key, order[index] ?? Buffer.alloc(0));
    };
    await put(contents.toReversed());
    const error = await failureOf(world.agent().compact(force));
    assert.equal(error.code, 'ERR_MILLRACE_SEGMENT_CORRUPT');
    assert.ok(keys.some((key) => error.message.includes(key)));
    assert.equal((await world.committedKeys()).length, 3);
    await put(contents);
    assert.deepEqual(await readBoth(store), before);
    await world.agent().compact(force);
    await world.check();
  });

  test('for one damaged object does not stop others in the background', async () => {
    const world = await World.open();
    const id = await world.stream('s', { compression: 'none' });
    const bad = await world.append({ streamId: id, records: plain(3), compression: 'none' });
    await world.append({ streamId: id, records: plain(3) });
    await world.append({ streamId: id, records: plain(3) });
    const size = (await world.memory.size(bad)) ?? 0;
    const content = Buffer.from(await world.memory.read(bad, 0, size));
    content[200] = (content[200] ?? 0) ^ 1;
    await replace(world, bad, content);
    const agent = world.agent();
    world.clock.advance(31 * MINUTE);
    agent.start();
    await until(world, () => agent.counters.failures > 0 && agent.counters.jobs.merge > 0);
    await agent.stop();
    assert.equal((await world.committedKeys()).length, 2);
    assert.ok((await world.committedKeys()).includes(bad));
  });
});

suite('what changes while a job runs', () => {
  const changes: Readonly<Record<string, (store: Filled) => Promise<unknown>>> = {
    'a trim of everything': async ({ world, ids }) => {
      for (const id of ids) await world.coordinator.trim(id, (await world.coordinator.streamTotals(id)).nextOffset);
    },
    'a trim of a part': ({ world, ids }) => world.coordinator.trim(ids[0], 11),
    'a truncation': ({ world, ids }) =>
      world.coordinator.truncateStream({ streamId: ids[0], nextOffset: 13, epoch: 1 }),
    'a deleted stream': ({ world, ids }) => world.coordinator.deleteStream(ids[0]),
    'more appends': ({ world, ids }) => world.append({ streamId: ids[0], records: plain(4, 'new') }),
    'another config': ({ world, ids }) =>
      world.coordinator.configureStream(ids[1], { compression: 'none', retention: {}, cleanup: 'delete' }),
  };
  for (const [name, change] of Object.entries(changes)) {
    for (const moment of ['before', 'after'] as const) {
      test(`${name} ${moment} the rewrite is respected`, async () => {
        const store = await filled();
        const { world, ids } = store;
        let expected: SeenRecord[] = [];
        let changed = false;
        const rewrite = async (job: Parameters<World['rewrite']>[0]): ReturnType<World['rewrite']> => {
          const result = moment === 'after' ? await world.rewrite(job) : undefined;
          if (!changed) {
            changed = true;
            await change(store);
            if (name !== 'a deleted stream') expected = await world.read(ids[0]);
          }
          return result ?? world.rewrite(job);
        };
        await world.agent({}, { runner: { rewrite } }).compact(force);
        assert.ok(changed);
        if (name !== 'a deleted stream') assert.deepEqual(await world.read(ids[0]), expected);
        await world.check();
      });
    }
  }

  test('a run without offsets between two inputs makes the job keep runs apart', async () => {
    const world = await World.open();
    const [id, bulk] = [await world.stream('s'), await world.stream('bulk', { compression: 'none' })];
    const entry = { type: TRACKING_ENTRY.offset, reference: 'r', offset: 1 };
    await world.append({ streamId: id, records: plain(4) });
    await world.append(
      { streamId: id, tracking: [entry] },
      { streamId: bulk, records: plain(10, 'b', 20_000), compression: 'none' },
    );
    await world.append({ streamId: id, records: plain(4) });
    await world.append({ streamId: id, records: plain(4), tracking: [entry], snapshot: true });
    const before = await world.read(id);
    const agent = world.agent({ targetBytes: 100_000 });
    world.clock.advance(31 * MINUTE);
    await agent.compact();
    assert.equal(agent.counters.conflicts, 1);
    assert.equal(agent.counters.jobs.merge, 1);
    assert.deepEqual(await world.read(id), before);
    await world.check();
  });
});

function sampleOf({ byteOffset, byteLength }: FoundRun): number[] {
  return [0, 9, 30, 90, Math.floor(byteLength / 2)].map((step) => byteOffset + Math.min(step, byteLength - 1));
}

async function replace(world: World, key: string, content: Uint8Array): Promise<void> {
  await world.memory.delete([key]);
  const writer = await world.memory.create(key);
  await writer.write(content);
  await writer.commit();
}

/** Lets the background work, minute by minute, until `done`. */
async function until(world: World, done: () => boolean): Promise<void> {
  for (let round = 0; round < 2_000; round += 1) {
    if (done()) return;
    world.clock.advance(1_000);
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.fail('the background never got there');
}
