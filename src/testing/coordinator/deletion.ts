import assert from 'node:assert/strict';
import type { Coordinator } from '../../coordinator/coordinator.ts';
import { commitRuns, makeStream, mergedOutput, reserveKey, sampleRun } from './samples.ts';
import { BENCH_START, BENCH_TIMES, type Bench } from './bench.ts';
import type { TestFunctions } from '../test-functions.ts';

/** An object for each of `names`, each with a stream of its own. */
async function objectsOf(coordinator: Coordinator, names: string): Promise<{ streamId: number; key: string }[]> {
  const made: { streamId: number; key: string }[] = [];
  for (const name of names) {
    const streamId = await makeStream(coordinator, name);
    made.push({ streamId, key: await commitRuns(coordinator, [sampleRun(streamId, 0, 1)]) });
  }
  return made;
}

export function deletion(bench: () => Bench, { test }: TestFunctions): void {
  test('a dead object waits for its grace, goes when that is confirmed, and is remembered for a while', async () => {
    const { coordinator, clock, reopen } = bench();
    const [{ streamId, key } = { streamId: 0, key: '' }] = await objectsOf(coordinator, 'a');
    await coordinator.deleteStream(streamId);
    clock.advance(BENCH_TIMES.deleteGrace - 1);
    assert.deepEqual(await coordinator.objectsToDelete(10), []);
    await reopen();
    clock.advance(1);
    assert.deepEqual(await bench().coordinator.objectsToDelete(10), [key]);
    assert.equal(await bench().coordinator.confirmDeleted([key, 'nothing']), 1);
    assert.equal(await bench().coordinator.confirmDeleted([key]), 0);
    assert.deepEqual(await bench().coordinator.objectsToDelete(10), []);
    assert.deepEqual(await bench().coordinator.classifyKeys([key, 'nothing']), ['gone', 'unknown']);
    clock.advance(BENCH_TIMES.tombstoneRetention - 1);
    assert.equal((await bench().coordinator.expire()).tombstones, 0);
    await reopen();
    clock.advance(1);
    assert.equal((await bench().coordinator.expire()).tombstones, 1);
    assert.deepEqual(await bench().coordinator.classifyKeys([key]), ['unknown']);
  });

  test('those that wait longest come first, as many as are asked for, until they are confirmed', async () => {
    const { coordinator, clock } = bench();
    const made = await objectsOf(coordinator, 'abcd');
    for (const index of [2, 0, 3, 1]) {
      await coordinator.deleteStream(made[index]!.streamId);
      clock.advance(10);
    }
    clock.advance(BENCH_TIMES.deleteGrace);
    const order = [2, 0, 3, 1].map((index) => made[index]!.key);
    assert.deepEqual(await coordinator.objectsToDelete(2), order.slice(0, 2));
    assert.deepEqual(await coordinator.objectsToDelete(9), order);
    await coordinator.confirmDeleted([order[1]!]);
    assert.deepEqual(await coordinator.objectsToDelete(9), [order[0], order[2], order[3]]);
  });

  test('only deleting objects can be confirmed', async () => {
    const { coordinator } = bench();
    const [made] = await objectsOf(coordinator, 'a');
    const reserved = await reserveKey(coordinator);
    assert.equal(await coordinator.confirmDeleted([made!.key, reserved]), 0);
    assert.deepEqual(await coordinator.classifyKeys([made!.key, reserved]), ['committed', 'reserved']);
  });

  test('a clock that jumps back holds deletion up, and never lets an object go early', async () => {
    const { coordinator, clock } = bench();
    const [made] = await objectsOf(coordinator, 'a');
    await coordinator.deleteStream(made!.streamId);
    clock.jump(1000);
    assert.deepEqual(await coordinator.objectsToDelete(1), []);
    assert.ok((await coordinator.stats()).now >= BENCH_START);
    clock.jump(BENCH_START + BENCH_TIMES.deleteGrace);
    assert.deepEqual(await coordinator.objectsToDelete(1), [made!.key]);
  });

  test('a deletion deadline counts from the first death in an object', async () => {
    const { coordinator, clock } = bench();
    const strict = await makeStream(coordinator, 'strict', { deletionDeadline: 500 });
    const lax = await makeStream(coordinator, 'lax');
    await commitRuns(coordinator, [sampleRun(strict, 0, 10), sampleRun(lax, 0, 10)]);
    const rewriteBy = async (): Promise<number | undefined> => (await coordinator.listObjects({}))[0]!.rewriteBy;
    await coordinator.trim(lax, 5);
    assert.equal(await rewriteBy(), undefined);
    await coordinator.trim(strict, 5);
    assert.equal(await rewriteBy(), BENCH_START + 500);
    clock.advance(100);
    await coordinator.deleteStream(strict);
    assert.equal(await rewriteBy(), BENCH_START + 500);
  });

  test('an output that still holds dead bytes keeps the deadline of its inputs', async () => {
    const { coordinator, clock } = bench();
    const strict = await makeStream(coordinator, 'strict', { deletionDeadline: 500 });
    const key = await commitRuns(coordinator, [sampleRun(strict, 0, 10)]);
    const rewrite = async (input: string, leaveOut: number): Promise<string> => {
      const job = (await coordinator.claimJob('w', { kind: 'rewrite', inputKeys: [input], hints: {} }, 1000))!;
      const output = mergedOutput(job, await reserveKey(coordinator));
      const runs = output.runs.map((run) => ({ ...run, firstOffset: leaveOut, records: 10 - leaveOut }));
      clock.advance(100);
      await coordinator.commitJob({ jobId: job.jobId, token: job.token, outputs: [{ ...output, runs }], dropped: [] });
      return output.key;
    };
    await coordinator.trim(strict, 5);
    const first = await rewrite(key, 3);
    assert.equal((await coordinator.listObjects({}))[0]!.rewriteBy, BENCH_START + 500);
    await rewrite(first, 5);
    assert.equal((await coordinator.listObjects({}))[0]!.rewriteBy, undefined);
  });

  test('objects are listed in key order, by what planners ask for', async () => {
    const { coordinator, clock } = bench();
    const made = await objectsOf(coordinator, 'abc');
    clock.advance(10);
    const [young] = await objectsOf(coordinator, 'd');
    const keys = async (filter: Parameters<Coordinator['listObjects']>[0]): Promise<string[]> =>
      (await coordinator.listObjects(filter)).map(({ key }) => key);
    const old = made.map(({ key }) => key);
    assert.deepEqual(await keys({}), [...old, young!.key]);
    assert.deepEqual(await keys({ limit: 2 }), old.slice(0, 2));
    assert.deepEqual(await keys({ after: old[0]!, limit: 1 }), [old[1]]);
    assert.deepEqual(await keys({ committedBefore: BENCH_START }), old);
    assert.deepEqual(await keys({ maxBytes: 195 }), []);
    assert.deepEqual(await keys({ maxBytes: 196, maxGeneration: 0 }), [...old, young!.key]);
    await coordinator.deleteStream(made[1]!.streamId);
    assert.deepEqual(await keys({ state: 'deleting' }), [old[1]]);
    const reserved = await reserveKey(coordinator);
    assert.deepEqual(await keys({ state: 'reserved' }), [reserved]);
  });

  test('stats count what is there', async () => {
    const { coordinator } = bench();
    const made = await objectsOf(coordinator, 'ab');
    await coordinator.deleteStream(made[0]!.streamId);
    await reserveKey(coordinator);
    await coordinator.claimJob('w', { kind: 'merge', inputKeys: [made[1]!.key], hints: {} }, 1000);
    const { streams, runs, jobs, objects, committedBytes, liveBytes, deletingBytes } = await coordinator.stats();
    assert.deepEqual([streams, runs, jobs, committedBytes, liveBytes, deletingBytes], [1, 1, 1, 196, 100, 196]);
    assert.deepEqual(objects, { reserved: 1, committed: 1, deleting: 1, gone: 0 });
    assert.deepEqual(await coordinator.verify(), []);
  });
}
