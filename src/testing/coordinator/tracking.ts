/** Tracking state outlives the records it was written beside. */
import assert from 'node:assert/strict';
import type { Coordinator } from '../../coordinator/coordinator.ts';
import { allRuns, commitRuns, EVERYTHING, makeStream, mergedOutput, reserveKey, sampleRun } from './samples.ts';
import type { Bench } from './bench.ts';
import type { TestFunctions } from '../test-functions.ts';

/** Runs of ten records; `marks` says which carry a snapshot (s), a delta (d), or no tracking at all (-). */
async function tracked(coordinator: Coordinator, marks: string): Promise<number> {
  const streamId = await makeStream(coordinator, 'tracked');
  for (const [index, mark] of Array.from(marks).entries()) {
    const trackingBytes = mark === '-' ? 0 : 20;
    await commitRuns(coordinator, [
      sampleRun(streamId, index * 10, 10, { trackingBytes, trackingSnapshot: mark === 's' }),
    ]);
  }
  return streamId;
}

async function trackingStarts(coordinator: Coordinator, streamId: number): Promise<number[]> {
  return (await coordinator.findTrackingRuns(streamId)).map(({ firstOffset }) => firstOffset);
}

export function tracking(bench: () => Bench, { test }: TestFunctions): void {
  for (const [marks, expected] of [
    ['---', []],
    ['-d-d-', [10, 30]],
    ['sd-d', [0, 10, 30]],
    ['sds-d-', [20, 40]],
    ['dds', [20]],
  ] as const) {
    test(`of runs ${marks}, those from the newest snapshot on hold the tracking state`, async () => {
      const { coordinator } = bench();
      const streamId = await tracked(coordinator, marks);
      assert.deepEqual(await trackingStarts(coordinator, streamId), expected);
    });
  }

  test('trimmed runs stay for their tracking, uncounted and unreadable, until a newer snapshot', async () => {
    const { coordinator, reopen } = bench();
    const streamId = await tracked(coordinator, '-sd-');
    assert.deepEqual(await coordinator.trim(streamId, 40), { firstOffset: 40, runs: 1, bytes: 100 });
    await reopen();
    const after = bench().coordinator;
    const { records, userBytes, trackingBytes, storedBytes, heldBytes, runs } = await after.streamTotals(streamId);
    assert.deepEqual([records, userBytes, trackingBytes, storedBytes, heldBytes, runs], [0, 0, 0, 0, 300, 0]);
    assert.deepEqual(await allRuns(after, streamId), []);
    assert.deepEqual(await trackingStarts(after, streamId), [10, 20]);
    await commitRuns(after, [sampleRun(streamId, 40, 10, { trackingBytes: 20, trackingSnapshot: true })]);
    assert.equal((await after.streamTotals(streamId)).heldBytes, 0);
    assert.equal((await after.stats()).objects.deleting, 4);
    assert.deepEqual(await trackingStarts(after, streamId), [40]);
  });

  test('a run without offsets at the log start is counted, and held once the log start passes', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    await commitRuns(coordinator, [sampleRun(streamId, 0, 0, { trackingBytes: 30, trackingSnapshot: true })]);
    await commitRuns(coordinator, [sampleRun(streamId, 0, 10)]);
    assert.equal((await coordinator.streamTotals(streamId)).trackingBytes, 30);
    await coordinator.trim(streamId, 1);
    const { trackingBytes, heldBytes } = await coordinator.streamTotals(streamId);
    assert.deepEqual([trackingBytes, heldBytes], [0, 100]);
    assert.deepEqual(await trackingStarts(coordinator, streamId), [0]);
  });

  test('a job may drop held runs once its output holds the tracking', async () => {
    const { coordinator } = bench();
    const streamId = await tracked(coordinator, 'sd--');
    await coordinator.trim(streamId, 20);
    assert.equal((await coordinator.streamTotals(streamId)).heldBytes, 200);
    const objects = await coordinator.listObjects({});
    const plan = { kind: 'chunkCompaction', inputKeys: objects.map(({ key }) => key), hints: {} } as const;
    const job = (await coordinator.claimJob('worker', plan, 1000))!;
    const output = mergedOutput(job, await reserveKey(coordinator));
    const [run] = output.runs;
    const rewritten = { ...run!, firstOffset: 20, records: 20, trackingBytes: 20, trackingSnapshot: true };
    const outputs = [{ ...output, runs: [{ ...rewritten, parents: run!.parents.slice(2) }] }];
    await coordinator.commitJob({ jobId: job.jobId, token: job.token, outputs, dropped: run!.parents.slice(0, 2) });
    assert.equal((await coordinator.streamTotals(streamId)).heldBytes, 0);
    assert.deepEqual(await trackingStarts(coordinator, streamId), [20]);
    const { runs } = await coordinator.findRuns(streamId, 0, EVERYTHING);
    assert.deepEqual(
      runs.map(({ firstOffset, nextOffset }) => [firstOffset, nextOffset]),
      [[20, 40]],
    );
  });
}
