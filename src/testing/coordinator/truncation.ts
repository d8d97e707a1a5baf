import assert from 'node:assert/strict';
import type { Coordinator } from '../../coordinator/coordinator.ts';
import { allRuns, commitRuns, makeStream, reserveKey, sampleCommit, sampleRun } from './samples.ts';
import type { Bench } from './bench.ts';
import { withCode } from '../object-store-contract.ts';
import type { TestFunctions } from '../test-functions.ts';

/** Three runs of ten records at epoch 1. */
async function thirty(coordinator: Coordinator): Promise<number> {
  const streamId = await makeStream(coordinator, 'thirty');
  for (let first = 0; first < 30; first += 10)
    await commitRuns(coordinator, [sampleRun(streamId, first, 10, { epoch: 1 })]);
  return streamId;
}

async function shape(coordinator: Coordinator, streamId: number): Promise<number[][]> {
  const runs = await allRuns(coordinator, streamId);
  return runs.map(({ firstOffset, endOffset, nextOffset }) => [firstOffset, endOffset, nextOffset]);
}

export function truncation(bench: () => Bench, { test }: TestFunctions): void {
  test('runs above die, a run across ends there, and appending goes on at the cut', async () => {
    const { coordinator, reopen } = bench();
    const streamId = await thirty(coordinator);
    await coordinator.truncateStream({ streamId, nextOffset: 15, epoch: 2 });
    assert.deepEqual(await shape(coordinator, streamId), [
      [0, 10, 10],
      [10, 15, 20],
    ]);
    await commitRuns(coordinator, [sampleRun(streamId, 15, 3, { epoch: 2 })]);
    await reopen();
    assert.deepEqual(await shape(bench().coordinator, streamId), [
      [0, 10, 10],
      [10, 15, 20],
      [15, 18, 18],
    ]);
    const { records, nextOffset, epoch } = await bench().coordinator.streamTotals(streamId);
    assert.deepEqual([records, nextOffset, epoch], [18, 18, 2]);
    const stats = await bench().coordinator.stats();
    assert.deepEqual([stats.objects.committed, stats.objects.deleting], [3, 1]);
  });

  test('a truncation at the watermark only raises the epoch', async () => {
    const { coordinator } = bench();
    const streamId = await thirty(coordinator);
    await coordinator.truncateStream({ streamId, nextOffset: 30, epoch: 5 });
    assert.equal((await coordinator.streamTotals(streamId)).epoch, 5);
    assert.equal((await allRuns(coordinator, streamId)).length, 3);
  });

  test('asked again it changes nothing; an older epoch is a conflict', async () => {
    const { coordinator } = bench();
    const streamId = await thirty(coordinator);
    await coordinator.truncateStream({ streamId, nextOffset: 15, epoch: 2 });
    await coordinator.truncateStream({ streamId, nextOffset: 15, epoch: 2 });
    for (const epoch of [1, 2]) {
      const again = coordinator.truncateStream({ streamId, nextOffset: 12, epoch });
      await assert.rejects(again, withCode('ERR_MILLRACE_CONFLICT'));
    }
    assert.equal((await coordinator.streamTotals(streamId)).nextOffset, 15);
  });

  test('a truncation stays between log start and watermark', async () => {
    const { coordinator } = bench();
    const streamId = await thirty(coordinator);
    await coordinator.trim(streamId, 12);
    for (const nextOffset of [11, 31]) {
      const outside = coordinator.truncateStream({ streamId, nextOffset, epoch: 2 });
      await assert.rejects(outside, withCode('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
    }
    await coordinator.truncateStream({ streamId, nextOffset: 12, epoch: 2 });
    assert.deepEqual(await shape(coordinator, streamId), []);
    const { records, firstOffset, nextOffset } = await coordinator.streamTotals(streamId);
    assert.deepEqual([records, firstOffset, nextOffset], [0, 12, 12]);
    assert.equal((await coordinator.stats()).objects.committed, 0);
  });

  test('a commit truncates and appends in one step', async () => {
    const { coordinator } = bench();
    const streamId = await thirty(coordinator);
    const cut = { streamId, nextOffset: 5, epoch: 2 };
    const key = await reserveKey(coordinator);
    const commit = sampleCommit(key, [sampleRun(streamId, 5, 2, { epoch: 2 })], { truncations: [cut] });
    await coordinator.commitObject(commit);
    assert.deepEqual(await shape(coordinator, streamId), [
      [0, 5, 10],
      [5, 7, 7],
    ]);
    assert.equal((await coordinator.commitObject(commit)).replayed, true);
    assert.deepEqual(await shape(coordinator, streamId), [
      [0, 5, 10],
      [5, 7, 7],
    ]);
  });

  test('when a commit is refused, its truncation did not happen', async () => {
    const { coordinator } = bench();
    const streamId = await thirty(coordinator);
    const cut = { streamId, nextOffset: 5, epoch: 2 };
    const key = await reserveKey(coordinator);
    for (const run of [sampleRun(streamId, 30, 2, { epoch: 2 }), sampleRun(streamId, 5, 2, { epoch: 1 })]) {
      const commit = sampleCommit(key, [run], { truncations: [cut] });
      await assert.rejects(coordinator.commitObject(commit), withCode('ERR_MILLRACE_CONFLICT'));
    }
    const { nextOffset, epoch } = await coordinator.streamTotals(streamId);
    assert.deepEqual([nextOffset, epoch], [30, 1]);
  });

  test('a truncation of a stream that was deleted meanwhile is left out', async () => {
    const { coordinator } = bench();
    const gone = await makeStream(coordinator, 'gone');
    const streamId = await makeStream(coordinator, 's');
    await coordinator.deleteStream(gone);
    await commitRuns(coordinator, [sampleRun(streamId, 0, 1)], {
      truncations: [{ streamId: gone, nextOffset: 0, epoch: 1 }],
    });
    assert.equal((await coordinator.streamTotals(streamId)).nextOffset, 1);
  });
}
