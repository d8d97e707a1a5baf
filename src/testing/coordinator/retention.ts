import assert from 'node:assert/strict';
import type { Coordinator } from '../../coordinator/coordinator.ts';
import type { Retention } from '../../record/stream-config.ts';
import { commitRuns, makeStream, sampleRun } from './samples.ts';
import { BENCH_START, type Bench } from './bench.ts';
import { withCode } from '../object-store-contract.ts';
import type { TestFunctions } from '../test-functions.ts';

/** Ten runs of ten records and 100 user bytes; run i is i seconds older than the newest, which is of now. */
async function aged(coordinator: Coordinator, name: string, policy: Retention): Promise<number> {
  const streamId = await makeStream(coordinator, name, { retention: policy });
  for (let index = 0; index < 10; index += 1) {
    const lastTimestamp = BENCH_START - (9 - index) * 1000;
    await commitRuns(coordinator, [
      sampleRun(streamId, index * 10, 10, { firstTimestamp: lastTimestamp, lastTimestamp }),
    ]);
  }
  return streamId;
}

async function firstOffset(coordinator: Coordinator, streamId: number): Promise<number> {
  return (await coordinator.streamTotals(streamId)).firstOffset;
}

export function retention(bench: () => Bench, { test }: TestFunctions): void {
  for (const [maxBytes, expected] of [
    [1000, 0],
    [999, 0],
    [901, 0],
    [900, 10],
    [450, 50],
    [0, 90],
  ] as const) {
    test(`keeps at least ${maxBytes} user bytes, in whole runs, and the newest run always`, async () => {
      const { coordinator } = bench();
      const streamId = await aged(coordinator, 's', { maxBytes });
      const result = await coordinator.enforceRetention();
      const runs = expected / 10;
      const streams = expected === 0 ? [] : [{ streamId, firstOffset: expected, runs, bytes: runs * 100 }];
      assert.deepEqual(result, { streams, more: false });
      assert.equal(await firstOffset(coordinator, streamId), expected);
    });
  }

  test("drops runs whose newest record is older than the age, by the coordinator's clock", async () => {
    const { coordinator, clock } = bench();
    const streamId = await aged(coordinator, 's', { maxAge: 5000 });
    await coordinator.enforceRetention();
    assert.equal(await firstOffset(coordinator, streamId), 40);
    clock.advance(1000);
    await coordinator.enforceRetention();
    assert.equal(await firstOffset(coordinator, streamId), 50);
    clock.jump(0);
    await coordinator.enforceRetention();
    assert.equal(await firstOffset(coordinator, streamId), 50);
  });

  test('age takes the newest run as well, and what is appended then goes on behind it', async () => {
    const { coordinator, clock } = bench();
    const streamId = await aged(coordinator, 's', { maxAge: 5000, maxBytes: 1 });
    await coordinator.enforceRetention();
    assert.equal(await firstOffset(coordinator, streamId), 90);
    clock.advance(5001);
    await coordinator.enforceRetention();
    const { firstOffset: first, nextOffset, records, runs } = await coordinator.streamTotals(streamId);
    assert.deepEqual([first, nextOffset, records, runs], [100, 100, 0, 0]);
    assert.deepEqual(await coordinator.enforceRetention(), { streams: [], more: false });
    const lastTimestamp = BENCH_START + 5000;
    await commitRuns(coordinator, [sampleRun(streamId, 100, 10, { firstTimestamp: lastTimestamp, lastTimestamp })]);
    await coordinator.enforceRetention();
    assert.equal((await coordinator.streamTotals(streamId)).records, 10);
  });

  test('either bound lets a run go', async () => {
    const { coordinator } = bench();
    const streamId = await aged(coordinator, 's', { maxAge: 5000, maxBytes: 700 });
    await coordinator.enforceRetention();
    assert.equal(await firstOffset(coordinator, streamId), 40);
  });

  test('an old run behind a young one waits for its turn', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's', { retention: { maxAge: 5000 } });
    const ages = [10_000, 1000, 10_000, 0];
    for (const [index, age] of ages.entries()) {
      const lastTimestamp = BENCH_START - age;
      await commitRuns(coordinator, [sampleRun(streamId, index, 1, { firstTimestamp: lastTimestamp, lastTimestamp })]);
    }
    await coordinator.enforceRetention();
    assert.equal(await firstOffset(coordinator, streamId), 1);
  });

  test('of all streams or of one; without a policy everything stays', async () => {
    const { coordinator } = bench();
    const one = await aged(coordinator, 'one', { maxBytes: 500 });
    const two = await aged(coordinator, 'two', { maxBytes: 500 });
    const keep = await aged(coordinator, 'keep', {});
    await coordinator.enforceRetention(two);
    assert.deepEqual([await firstOffset(coordinator, one), await firstOffset(coordinator, two)], [0, 50]);
    const { streams } = await coordinator.enforceRetention();
    assert.deepEqual(
      streams.map(({ streamId }) => streamId),
      [one],
    );
    assert.equal(await firstOffset(coordinator, keep), 0);
  });

  test('a limit cuts the work into pieces that end', async () => {
    const { coordinator } = bench();
    const one = await aged(coordinator, 'one', { maxBytes: 0 });
    const two = await aged(coordinator, 'two', { maxBytes: 300 });
    let rounds = 0;
    let runs = 0;
    for (let more = true; more; rounds += 1) {
      const result = await coordinator.enforceRetention(undefined, { maxRuns: 4 });
      for (const stream of result.streams) runs += stream.runs;
      assert.ok(rounds < 10);
      ({ more } = result);
    }
    assert.deepEqual([await firstOffset(coordinator, one), await firstOffset(coordinator, two)], [90, 70]);
    assert.equal(runs, 16);
    assert.ok(rounds >= 4);
  });

  test('runs without offsets use nothing of a limit, which holds for all streams together', async () => {
    const { coordinator } = bench();
    const one = await makeStream(coordinator, 'one', { retention: { maxBytes: 0 } });
    for (let index = 0; index < 5; index += 1) await commitRuns(coordinator, [sampleRun(one, 0, 0)]);
    for (let index = 0; index < 5; index += 1) await commitRuns(coordinator, [sampleRun(one, index, 1)]);
    const two = await aged(coordinator, 'two', { maxBytes: 0 });
    const { more } = await coordinator.enforceRetention(undefined, { maxRuns: 6 });
    assert.deepEqual([await firstOffset(coordinator, one), await firstOffset(coordinator, two)], [4, 20]);
    assert.ok(more);
  });

  test('runs without offsets or without records do not stop it', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's', { retention: { maxBytes: 0 } });
    await commitRuns(coordinator, [sampleRun(streamId, 0, 0)]);
    await commitRuns(coordinator, [sampleRun(streamId, 0, 10)]);
    await commitRuns(coordinator, [sampleRun(streamId, 10, 10, { records: 0, userBytes: 0 })]);
    await commitRuns(coordinator, [sampleRun(streamId, 20, 10)]);
    await commitRuns(coordinator, [sampleRun(streamId, 30, 0)]);
    for (let round = 0; round < 2; round += 1) {
      assert.equal((await coordinator.enforceRetention(streamId, { maxRuns: 1 })).more, round === 0);
    }
    assert.equal(await firstOffset(coordinator, streamId), 20);
    assert.equal((await coordinator.streamTotals(streamId)).runs, 2);
  });

  test('a limit of nothing is refused', async () => {
    const { coordinator } = bench();
    const invalid = withCode('ERR_MILLRACE_INVALID_ARGUMENT');
    await assert.rejects(coordinator.enforceRetention(undefined, { maxRuns: 0 }), invalid);
  });
}
