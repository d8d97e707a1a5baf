/** What the executor makes of objects, case by case. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { runPlan } from '../../src/compaction/job-run.ts';
import { compactionSettings } from '../../src/compaction/settings.ts';
import type { FoundRun } from '../../src/coordinator/coordinator.ts';
import type { JobPlan } from '../../src/coordinator/job.ts';
import { CHUNK_RAW_BYTES_TARGET } from '../../src/limits/limits.ts';
import { TRACKING_ENTRY, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { CHUNK_CHECKED_FROM } from '../../src/segment/chunk-format.ts';
import { DAY, HOUR, keyed, latestOf, plain, World } from './world.ts';

const force = { force: true };
const offsetOf = (reference: string, offset: number): TrackingEntry => ({
  type: TRACKING_ENTRY.offset,
  reference,
  offset,
});

async function runsOf(world: World, streamId: number): Promise<readonly FoundRun[]> {
  return (await world.coordinator.findRuns(streamId, 0, { maxRuns: 1_000, maxBytes: 2 ** 40 })).runs;
}

/** Runs one job as the agent would, with inputs that the test names. */
async function run(world: World, kind: JobPlan['kind'], inputKeys: readonly string[], hints = {}): Promise<void> {
  const report = await runPlan(
    { kind, inputKeys, hints },
    {
      ...world.jobEnvironment(),
      settings: compactionSettings({ tombstoneRetention: HOUR }),
    },
  );
  assert.ok(report !== undefined, 'the inputs were free');
}

suite('a merge', () => {
  test('makes one object of many, in which readers see the same records', async () => {
    const world = await World.open();
    const [a, b] = [await world.stream('a'), await world.stream('b')];
    for (let index = 0; index < 5; index += 1) {
      await world.append(
        { streamId: a, records: plain(7, `a${index}`) },
        { streamId: b, records: plain(4, `b${index}`) },
      );
    }
    const before = [await world.read(a), await world.read(b)];
    assert.equal(before[0]?.length, 35);
    const summary = await world.agent().compact(force);
    assert.deepEqual([summary.jobs, summary.inputs, summary.outputs], [1, 5, 1]);
    assert.deepEqual([await world.read(a), await world.read(b)], before);
    const [object] = await world.coordinator.listObjects({});
    assert.deepEqual([object?.generation, object?.liveRuns], [1, 2]);
    await world.check();
  });

  test('joins small chunks into full ones', async () => {
    const world = await World.open();
    const id = await world.stream('small', { compression: 'none' });
    for (let index = 0; index < 20; index += 1) {
      await world.append({ streamId: id, records: plain(40, 'r', 1_000), chunkFrames: 1 });
    }
    const before = await runsOf(world, id);
    const chunks = before.reduce((sum, { chunks: count }) => sum + count, 0);
    assert.ok(chunks > 250, `${chunks} chunks of about 3 KB`);
    await world.agent().compact(force);
    const [merged, ...others] = await runsOf(world, id);
    assert.equal(others.length, 0);
    assert.equal(merged?.chunks, Math.ceil((merged?.byteLength ?? 0) / CHUNK_RAW_BYTES_TARGET));
    await world.check();
  });

  test('passes large chunks on as they are, but for the checksum, which is bound to the object', async () => {
    const world = await World.open();
    const id = await world.stream('large');
    const noise = (): string => Buffer.from(world.random.bytes(90_000)).toString('base64');
    for (let index = 0; index < 3; index += 1) {
      const records = Array.from({ length: 6 }, () => ({ value: noise() }));
      await world.append({ streamId: id, records, frameRecords: 1 });
    }
    const stored = async (): Promise<Buffer[]> => {
      const all: Buffer[] = [];
      for (const found of await runsOf(world, id)) {
        for await (const { bytes } of world.chunks(found)) all.push(Buffer.from(bytes.subarray(CHUNK_CHECKED_FROM)));
      }
      return all;
    };
    const before = await stored();
    await world.agent().compact(force);
    assert.equal((await runsOf(world, id)).length, 1);
    assert.deepEqual(await stored(), before);
    assert.equal(world.jobs[0]?.result.counters.chunksWritten, 0);
    await world.check();
  });

  test('makes runs absolute whose offsets the coordinator assigned', async () => {
    const world = await World.open();
    const id = await world.stream('relative');
    const noise = Buffer.from(world.random.bytes(150_000)).toString('base64');
    await world.append({ streamId: id, records: plain(5) });
    await world.appendRelative({ streamId: id, records: [...plain(6), { value: noise }], frameRecords: 1 });
    await world.appendRelative({
      streamId: id,
      records: [{ value: noise }, ...plain(4)],
      frameRecords: 1,
      chunkFrames: 1,
    });
    const before = await world.read(id);
    await world.agent().compact(force);
    assert.deepEqual(await world.read(id), before);
    await world.append({ streamId: id, records: plain(3, 'later') });
    await world.agent().compact(force);
    assert.deepEqual((await world.read(id)).slice(0, before.length), before);
    await world.check();
  });

  test('puts data that expires together into one object, and keeps other classes apart', async () => {
    const world = await World.open();
    const day = await world.stream('day', { retention: { maxAge: DAY } });
    const week = await world.stream('week', { retention: { maxAge: 7 * DAY } });
    const week2 = await world.stream('week2', { retention: { maxAge: 7 * DAY } });
    const ever = await world.stream('ever');
    const sized = await world.stream('sized', { retention: { maxBytes: 10_000 } });
    const keys = await world.stream('keys', { cleanup: 'compact' });
    const secret = await world.stream('secret', { deletionDeadline: DAY });
    const ids = [day, week, week2, ever, sized, keys, secret];
    for (let index = 0; index < 4; index += 1) {
      await world.append(...ids.map((streamId) => ({ streamId, records: plain(3) })));
    }
    await run(world, 'merge', await world.committedKeys());
    const together = new Set<string>();
    for (const key of await world.committedKeys()) {
      const runs = await world.coordinator.objectRuns(key);
      together.add(runs.map(({ streamId }) => streamId).join());
    }
    assert.deepEqual(together, new Set([`${day}`, `${week},${week2}`, `${ever}`, `${sized}`, `${keys}`, `${secret}`]));
    await world.check();
  });

  test('spreads its output over objects of about the target size', async () => {
    const world = await World.open();
    const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
    const ids = await Promise.all(names.map((name) => world.stream(name, { compression: 'none' })));
    for (let index = 0; index < 5; index += 1) {
      await world.append(
        ...ids.map((streamId) => ({ streamId, records: plain(4, `${index}`, 2_000), compression: 'none' as const })),
      );
    }
    const before = await Promise.all(ids.map((id) => world.read(id)));
    await world.agent({ targetBytes: 100_000, maxBytes: 400_000 }).compact(force);
    const objects = await world.coordinator.listObjects({});
    assert.equal(objects.length, 5, 'half a megabyte in hundreds of kilobytes');
    for (const { liveBytes } of objects) assert.ok(liveBytes > 70_000 && liveBytes < 140_000, `${liveBytes} bytes`);
    assert.deepEqual(await Promise.all(ids.map((id) => world.read(id))), before);
    await world.check();
  });
});

suite('dead bytes', () => {
  test('of trimmed, truncated and deleted records are physically gone', async () => {
    const world = await World.open();
    const config = { compression: 'none' as const, deletionDeadline: DAY };
    const [id, gone] = [await world.stream('kept', config), await world.stream('gone', config)];
    const records = [...plain(5, 'trimmed'), ...plain(4, 'readable'), ...plain(3, 'truncated')];
    const stored = { compression: 'none' as const, frameRecords: 5 };
    await world.append(
      { streamId: id, records, ...stored },
      { streamId: gone, records: plain(3, 'deleted'), ...stored },
    );
    assert.equal(await world.holds('trimmed'), true);
    await world.coordinator.trim(id, 5);
    await world.coordinator.truncateStream({ streamId: id, nextOffset: 9, epoch: 1 });
    await world.coordinator.deleteStream(gone);
    const before = await world.read(id);
    assert.equal(before.length, 4);
    const [due] = await world.coordinator.listObjects({});
    assert.equal(due?.rewriteBy, world.clock.now() + DAY);
    await run(world, 'rewrite', await world.committedKeys());
    await world.clean();
    for (const text of ['trimmed', 'truncated', 'deleted']) assert.equal(await world.holds(text), false, text);
    assert.equal(await world.holds('readable'), true);
    assert.deepEqual(await world.read(id), before);
    const [object] = await world.coordinator.listObjects({});
    assert.equal(object?.rewriteBy, undefined, 'the deadline is met');
    await world.check();
  });

  test('go although a run in front stays for its tracking', async () => {
    const world = await World.open();
    const id = await world.stream('held', { compression: 'none' });
    const snapshot = { tracking: [offsetOf('reader', 9)], snapshot: true };
    const stored = { compression: 'none' as const };
    await world.append({ streamId: id, records: plain(5, 'old'), ...stored, ...snapshot });
    const second = await world.append({ streamId: id, records: plain(10, 'cut'), ...stored });
    await world.coordinator.trim(id, 8);
    const before = await world.read(id);
    assert.equal(before[0]?.offset, 8);
    const tracking = await world.tracking(id);
    assert.deepEqual(tracking.offsets, { reader: 9 });
    await run(world, 'rewrite', [second]);
    assert.deepEqual(await world.read(id), before);
    assert.deepEqual(await world.tracking(id), tracking);
    await world.clean();
    assert.equal(await world.holds('cut 2 '), false);
    await run(world, 'merge', await world.committedKeys());
    assert.deepEqual(await world.read(id), before);
    assert.deepEqual(await world.tracking(id), tracking);
    await world.clean();
    assert.equal(await world.holds('old'), false);
    await world.check();
  });
});

suite('tracking', () => {
  test("becomes one snapshot at the front of a merge's output", async () => {
    const world = await World.open();
    const id = await world.stream('tracked');
    await world.append({ streamId: id, records: plain(4), tracking: [offsetOf('old', 1)] });
    await world.append({
      streamId: id,
      records: plain(4),
      tracking: [offsetOf('b', 2), offsetOf('low', 3)],
      snapshot: true,
    });
    await world.append({ streamId: id, tracking: [offsetOf('b', 7)] });
    await world.append({ streamId: id, records: plain(4), tracking: [offsetOf('c', 8)] });
    await world.coordinator.trim(id, 5);
    const before = await world.tracking(id);
    assert.deepEqual(before.offsets, { b: 7, c: 8 });
    await world.agent().compact(force);
    const [merged, ...others] = await world.coordinator.findTrackingRuns(id);
    assert.equal(others.length, 0);
    assert.ok(merged?.trackingSnapshot);
    assert.deepEqual(await world.tracking(id), before);
    const totals = await world.coordinator.streamTotals(id);
    assert.equal(totals.records, 7);
    assert.equal(totals.heldBytes, 0);
    await world.check();
  });

  test('stays a delta where older tracking lies elsewhere', async () => {
    const world = await World.open();
    const id = await world.stream('tracked');
    await world.append({
      streamId: id,
      records: plain(4),
      tracking: [offsetOf('a', 1), offsetOf('b', 1)],
      snapshot: true,
    });
    const later = [
      await world.append({ streamId: id, records: plain(4), tracking: [offsetOf('a', 5)] }),
      await world.append({ streamId: id, records: plain(4), tracking: [offsetOf('a', 9)] }),
    ];
    await run(world, 'merge', later);
    assert.deepEqual((await world.tracking(id)).offsets, { a: 9, b: 1 });
    const runs = await world.coordinator.findTrackingRuns(id);
    assert.deepEqual(
      runs.map(({ trackingSnapshot }) => trackingSnapshot),
      [true, false],
    );
    await world.check();
  });

  test('that a later snapshot replaces is removed once it is worth the work', async () => {
    const world = await World.open();
    const id = await world.stream('tracked');
    const heavy = Array.from({ length: 50 }, (_, index) => offsetOf(`reader number ${index}`, index));
    const first = await world.append({ streamId: id, records: plain(60), tracking: heavy });
    await world.append({ streamId: id, records: plain(3), tracking: [offsetOf('reader', 5)], snapshot: true });
    world.clock.advance(HOUR);
    const before = await world.read(id);
    const [old] = await world.coordinator.objectRuns(first);
    assert.ok((old?.trackingBytes ?? 0) > 1_000);
    const agent = world.agent({ maxFirstGenerationAge: DAY });
    await agent.compact();
    assert.equal(agent.counters.jobs.chunkCompaction, 1);
    const totals = await world.coordinator.streamTotals(id);
    assert.ok(totals.trackingBytes < 200, `${totals.trackingBytes} bytes of tracking are left`);
    assert.equal(totals.records, 63);
    assert.deepEqual(await world.read(id), before);
    assert.deepEqual((await world.tracking(id)).offsets, { reader: 5 });
    assert.equal((await agent.compact()).jobs, 0);
    await world.check();
  });
});

suite('key compaction', () => {
  test('keeps the latest record of each key at its own offset', async () => {
    const world = await World.open();
    const id = await world.stream('keys', { cleanup: 'compact' });
    await world.append({ streamId: id, records: keyed(20, 5, 'first') });
    await world.append({ streamId: id, records: [...keyed(3, 3, 'second'), { value: 'no key' }] });
    const before = await world.read(id);
    await world.agent().compact(force);
    const after = await world.read(id);
    assert.deepEqual(after, latestOf(before));
    assert.equal(after.length, 6);
    const { nextOffset, records } = await world.coordinator.streamTotals(id);
    assert.deepEqual([nextOffset, records], [24, 6], 'offsets are as before');
    await world.check();
    assert.equal((await world.agent().compact(force)).jobs, 0, 'there is nothing left to do');
  });

  test('reads what it wrote: sparse frames are compacted again', async () => {
    const world = await World.open();
    const id = await world.stream('keys', { cleanup: 'compact' });
    for (let round = 0; round < 4; round += 1) {
      await world.append({ streamId: id, records: keyed(30, 7 + round, `round ${round}`) });
      const before = await world.read(id);
      await world.agent().compact(force);
      assert.deepEqual(await world.read(id), latestOf(before));
    }
    await world.check();
  });

  test('compacts a single object, and leaves streams alone whose keys mean nothing', async () => {
    const world = await World.open();
    const [keys, other] = [await world.stream('keys', { cleanup: 'compact' }), await world.stream('other')];
    await world.append({ streamId: keys, records: keyed(9, 2) }, { streamId: other, records: keyed(9, 2) });
    await world.agent().compact(force);
    assert.equal((await world.read(keys)).length, 2);
    assert.equal((await world.read(other)).length, 9);
    await world.check();
  });

  test('gives the same result when all keys share a hash and the index holds few of them', async () => {
    for (const keyHash of [(): number => 77, (key: Uint8Array): number => (key.at(-1) ?? 0) % 3]) {
      const world = await World.open();
      const limits = { keys: 4, bytes: 60 };
      world.environment = { keyHash, keyIndexLimits: limits };
      const id = await world.stream('keys', { cleanup: 'compact' });
      const long = 'k'.repeat(1_000);
      const records = Array.from({ length: 30 }, (_, index) => ({
        key: index % 2 === 0 ? `${index % 3}` : `${long}${index % 3}`,
        value: `value ${index}`,
      }));
      await world.append({ streamId: id, records });
      const before = await world.read(id);
      await run(world, 'keyCompaction', await world.committedKeys());
      const after = await world.read(id);
      const present = new Set(after.map(({ offset }) => offset));
      for (const { offset } of latestOf(before)) assert.ok(present.has(offset), 'no latest record is lost');
      assert.ok(after.length < before.length, 'what had room was compacted');
      await world.check();
    }
  });

  test('makes as many passes as a small index needs', async () => {
    const world = await World.open();
    world.environment = { keyIndexLimits: { keys: 8, bytes: 4_096 } };
    const id = await world.stream('keys', { cleanup: 'compact' });
    await world.append({ streamId: id, records: keyed(400, 100) });
    await world.append({ streamId: id, records: keyed(200, 150, 'later') });
    const before = await world.read(id);
    await world.agent().compact(force);
    assert.deepEqual(await world.read(id), latestOf(before));
    await world.check();
  });

  test('keeps tombstones for their time, and then lets them go', async () => {
    const world = await World.open();
    const id = await world.stream('keys', { cleanup: 'compact' });
    await world.append({
      streamId: id,
      records: [
        { key: 'a', value: '1' },
        { key: 'b', value: '2' },
        { key: 'a', value: null },
      ],
    });
    await run(world, 'keyCompaction', await world.committedKeys());
    assert.deepEqual(
      (await world.read(id)).map(({ key, value }) => [key, value]),
      [
        ['b', '2'],
        ['a', null],
      ],
    );
    world.clock.advance(2 * HOUR);
    await run(world, 'keyCompaction', await world.committedKeys());
    assert.deepEqual(
      (await world.read(id)).map(({ key }) => key),
      ['b'],
    );
    assert.equal((await world.coordinator.streamTotals(id)).nextOffset, 3);
    await world.check();
  });

  test('keeps a tombstone whose older records lie in an object of no concern', async () => {
    const world = await World.open();
    const id = await world.stream('keys', { cleanup: 'compact' });
    await world.append({ streamId: id, records: [{ key: 'a', value: 'must stay hidden' }] });
    const second = await world.append({
      streamId: id,
      records: [
        { key: 'a', value: null },
        { key: 'b', value: '2' },
      ],
    });
    world.clock.advance(2 * HOUR);
    await run(world, 'keyCompaction', [second]);
    assert.deepEqual(
      (await world.read(id)).map(({ value }) => value),
      ['must stay hidden', null, '2'],
    );
    const [before] = await world.coordinator.listObjects({ maxGeneration: 0 });
    assert.ok(before !== undefined);
    await run(world, 'keyCompaction', await world.committedKeys());
    assert.deepEqual(
      (await world.read(id)).map(({ key }) => key),
      ['b'],
    );
    await world.check();
  });

  test('can leave a run without any record', async () => {
    const world = await World.open();
    const id = await world.stream('keys', { cleanup: 'compact' });
    await world.append({
      streamId: id,
      records: [
        { key: 'a', value: '1' },
        { key: 'a', value: null },
      ],
    });
    world.clock.advance(2 * HOUR);
    await run(world, 'keyCompaction', await world.committedKeys());
    assert.deepEqual(await world.read(id), []);
    await world.append({ streamId: id, records: [{ key: 'a', value: '3' }] });
    await world.agent().compact(force);
    assert.deepEqual(
      (await world.read(id)).map(({ offset }) => offset),
      [2],
    );
    await world.check();
  });
});
