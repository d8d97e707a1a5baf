/** The agent: leases, concurrency, rates, pauses, and several agents on one store. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { CompactionRunner } from '../../src/compaction/rewrite-job.ts';
import { compactionSettings } from '../../src/compaction/settings.ts';
import { CLEANER_INTERVAL } from '../../src/compaction/plan-rewrite.ts';
import { coded } from '../support/test-store.ts';
import { DAY, keyed, HOUR, MINUTE, plain, World } from './world.ts';

const force = { force: true };

async function filled(objects: number): Promise<{ readonly world: World; readonly id: number }> {
  const world = await World.open();
  const id = await world.stream('s');
  for (let index = 0; index < objects; index += 1) await world.append({ streamId: id, records: plain(6) });
  return { world, id };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Moves the clock in steps short enough for every heartbeat, until `done`. */
async function pass(world: World, step: number, done: () => boolean): Promise<void> {
  for (let round = 0; round < 500; round += 1) {
    await turns(10);
    if (done()) return;
    world.clock.advance(step);
  }
  assert.fail('it never happened');
}

/** A runner that waits until it is let go. */
function heldRunner(world: World): {
  readonly runner: CompactionRunner;
  readonly release: () => void;
  readonly calls: () => number;
} {
  let release = (): void => undefined;
  let calls = 0;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const rewrite: CompactionRunner['rewrite'] = async (job) => {
    calls += 1;
    await released;
    return world.rewrite(job);
  };
  return { runner: { rewrite }, release: () => release(), calls: () => calls };
}

suite('a lease', () => {
  test('is renewed for as long as a job takes', async () => {
    const { world, id } = await filled(4);
    const before = await world.read(id);
    const { runner, release, calls } = heldRunner(world);
    const agent = world.agent({}, { runner });
    let done = false;
    const compaction = agent.compact(force).finally(() => {
      done = true;
    });
    await pass(world, 1_000, () => calls() === 1);
    const started = world.clock.now();
    await pass(world, 5_000, () => world.clock.now() - started > 10 * MINUTE);
    await world.coordinator.expire();
    assert.equal((await world.coordinator.jobs()).length, 1);
    release();
    await pass(world, 1_000, () => done);
    assert.equal((await compaction).jobs, 1);
    assert.deepEqual(await world.read(id), before);
    await world.check();
  });

  test("that is lost ends the job: its outputs go, and the next owner's stay", async () => {
    const { world, id } = await filled(4);
    const before = await world.read(id);
    const { runner, release, calls } = heldRunner(world);
    const slow = world.agent({}, { runner, worker: 'slow' });
    const compaction = slow.compact(force);
    compaction.catch(() => undefined);
    await pass(world, 0, () => calls() === 1);
    // A pause of the whole process: no heartbeat in time, and another worker takes over.
    world.clock.advance(2 * MINUTE);
    await world.coordinator.expire();
    const other = await world.agent({}, { worker: 'other' }).compact(force);
    assert.equal(other.jobs, 1);
    const committed = await world.committedKeys();
    release();
    assert.equal((await compaction).jobs, 0);
    assert.equal(slow.counters.leasesLost, 1);
    assert.deepEqual(await world.committedKeys(), committed);
    assert.deepEqual(await world.read(id), before);
    await world.check();
  });

  test('that is lost while a job writes stops it at its next chunk', async () => {
    const { world } = await filled(4);
    const rewrite: CompactionRunner['rewrite'] = async (job) => {
      for (const { jobId } of await world.coordinator.jobs()) assert.ok(jobId > 0);
      world.clock.advance(5 * MINUTE);
      await world.coordinator.expire();
      await turns(50);
      assert.equal(new Int32Array(job.cancel)[0], 1, 'the worker is told');
      await assert.rejects(world.rewrite(job), coded('ERR_MILLRACE_ABORTED'));
      assert.equal((await world.storedKeys()).length, 4, 'nothing of it is left');
      return world.rewrite(job);
    };
    const agent = world.agent({}, { runner: { rewrite } });
    await assert.rejects(agent.compact(force), coded('ERR_MILLRACE_LEASE_LOST'));
    await world.check();
  });
});

suite('an agent', () => {
  test('runs no more jobs at once than it may', async () => {
    const { world } = await filled(10);
    let running = 0;
    let most = 0;
    const rewrite: CompactionRunner['rewrite'] = async (job) => {
      running += 1;
      most = Math.max(most, running);
      await turns(5);
      running -= 1;
      return world.rewrite(job);
    };
    const inputs = { minInputs: 2, maxInputs: 2, maxFirstGenerationInputs: 2 };
    const agent = world.agent({ maxConcurrentJobs: 3, ...inputs }, { runner: { rewrite } });
    assert.ok((await agent.compact(force)).jobs >= 5);
    assert.equal(most, 3);
    assert.equal(agent.counters.running, 0);
    await world.check();
  });

  test('compacts one stream when asked to, and knows which there are', async () => {
    const { world, id } = await filled(3);
    const other = await world.stream('other', { cleanup: 'compact' });
    await world.append({ streamId: other, records: keyed(8, 2) });
    const before = (await world.committedKeys()).slice(0, 3);
    await world.agent().compact({ stream: 'other', force: true });
    assert.deepEqual((await world.committedKeys()).slice(0, 3), before);
    assert.equal((await world.read(other)).length, 2);
    assert.equal((await world.read(id)).length, 18);
    await assert.rejects(world.agent().compact({ stream: 'nobody' }), coded('ERR_MILLRACE_STREAM_NOT_FOUND', 'nobody'));
  });

  test('keeps to its byte rate', async () => {
    const { world } = await filled(6);
    const bytes = (await world.coordinator.stats()).liveBytes;
    const started = world.clock.now();
    const rate = 1_024 * 2;
    const agent = world.agent({ bytesPerSecond: rate, maxConcurrentJobs: 2, maxBytes: 10_000, targetBytes: 4_096 });
    const largest = Math.max(...(await world.coordinator.listObjects({})).map((object) => object.bytes));
    const { jobs, readBytes } = await agent.compact(force);
    assert.ok(readBytes >= bytes && readBytes > jobs * largest);
    // The last read of a job is not waited for, and a job has its share of the rate.
    assert.ok(world.clock.now() - started >= ((readBytes - jobs * largest) / (rate / 2)) * 1_000);
    assert.ok(world.clock.now() > started);
  });

  test('works in the background when something is due, and not while it is paused', async () => {
    const { world, id } = await filled(5);
    const before = await world.read(id);
    const agent = world.agent();
    agent.start();
    await pass(world, MINUTE, () => world.clock.now() % DAY === 0 || world.clock.monotonic() > 14 * MINUTE);
    assert.equal(agent.counters.jobs.merge, 0, 'too young');
    agent.pause();
    await pass(world, MINUTE, () => world.clock.monotonic() > 40 * MINUTE);
    assert.equal(agent.counters.jobs.merge, 0, 'paused');
    agent.resume();
    await pass(world, MINUTE, () => agent.counters.jobs.merge === 1);
    await agent.stop();
    assert.deepEqual(await world.read(id), before);
    await assert.rejects(agent.compact(), coded('ERR_MILLRACE_CLOSED'));
    await world.check();
  });

  test('gives up what it is doing when it is stopped', async () => {
    const { world } = await filled(4);
    const { runner, release, calls } = heldRunner(world);
    const agent = world.agent({}, { runner });
    const compaction = agent.compact(force);
    compaction.catch(() => undefined);
    await pass(world, 0, () => calls() === 1);
    const stopped = agent.stop();
    release();
    await stopped;
    await assert.rejects(compaction);
    assert.equal(agent.counters.failures, 0, 'that was no failure');
    assert.equal((await world.committedKeys()).length, 4);
    await world.check();
  });

  test('shares a store with others: no object is in two jobs', async () => {
    const { world, id } = await filled(64);
    const before = await world.read(id);
    const agents = ['a', 'b', 'c'].map((worker) => world.agent({ maxFirstGenerationInputs: 8 }, { worker }));
    await Promise.all(agents.map((agent) => agent.compact(force)));
    const taken = world.jobs.flatMap(({ job }) => job.inputs.map(({ key }) => key));
    assert.equal(new Set(taken).size, taken.length);
    assert.equal((await world.agent().compact(force)).jobs, 0);
    assert.deepEqual(await world.read(id), before);
    await world.check();
  });
});

suite('a deletion deadline', () => {
  test('is met: the bytes are gone before it, and not much earlier than they must be', async () => {
    const world = await World.open();
    const config = { deletionDeadline: 6 * HOUR, compression: 'none' as const };
    const [secret, other] = [await world.stream('secret', config), await world.stream('other')];
    const stored = { compression: 'none' as const };
    await world.append(
      { streamId: secret, records: plain(4, 'confidential'), ...stored },
      { streamId: other, records: plain(20, 'public', 500), ...stored },
    );
    await world.append({ streamId: secret, records: plain(2, 'later'), ...stored });
    const agent = world.agent({ minFirstGenerationAge: 20 * DAY, maxFirstGenerationAge: 20 * DAY });
    const settings = compactionSettings();
    await world.coordinator.trim(secret, 4);
    const trimmedAt = world.clock.now();
    let startedAt = 0;
    while (await world.holds('confidential')) {
      assert.ok(world.clock.now() - trimmedAt <= config.deletionDeadline, 'the bytes outlived the deadline');
      world.clock.advance(CLEANER_INTERVAL / 4);
      const { jobs } = await agent.compact();
      if (jobs > 0) startedAt = world.clock.now();
      const due = await world.coordinator.objectsToDelete(1_000);
      if ((world.clock.now() - trimmedAt) % CLEANER_INTERVAL === 0) {
        await world.coordinator.confirmDeleted(await world.memory.delete(due));
      }
    }
    assert.ok(startedAt - trimmedAt >= config.deletionDeadline - settings.deadlineMargin - 10 * MINUTE);
    assert.equal((await world.read(other)).length, 20);
    await world.check();
  });
});
