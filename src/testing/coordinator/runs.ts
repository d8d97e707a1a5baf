import assert from 'node:assert/strict';
import type { Coordinator, FoundRuns } from '../../coordinator/coordinator.ts';
import { allRuns, commitRuns, EVERYTHING, makeStream, sampleRun } from './samples.ts';
import type { Bench } from './bench.ts';
import { withCode } from '../object-store-contract.ts';
import type { TestFunctions } from '../test-functions.ts';

/** Ten runs of ten records, [0, 100). */
async function hundred(coordinator: Coordinator): Promise<number> {
  const streamId = await makeStream(coordinator, 'hundred');
  for (let first = 0; first < 100; first += 10) await commitRuns(coordinator, [sampleRun(streamId, first, 10)]);
  return streamId;
}

function starts({ runs }: FoundRuns): number[] {
  return runs.map(({ firstOffset }) => firstOffset);
}

export function runs(bench: () => Bench, functions: TestFunctions): void {
  finding(bench, functions);
  trimming(bench, functions);
  totals(bench, functions);
}

function finding(bench: () => Bench, { test }: TestFunctions): void {
  test('every offset finds the run that covers it, and the ones behind', async () => {
    const { coordinator } = bench();
    const streamId = await hundred(coordinator);
    for (let offset = 0; offset < 100; offset += 1) {
      const found = await coordinator.findRuns(streamId, offset, { maxRuns: 2, maxBytes: Infinity });
      const first = offset - (offset % 10);
      assert.deepEqual(starts(found), first === 90 ? [90] : [first, first + 10]);
    }
  });

  test('at and above the high watermark there are no runs', async () => {
    const { coordinator } = bench();
    const streamId = await hundred(coordinator);
    for (const offset of [100, 101, 1e15]) {
      assert.deepEqual(await coordinator.findRuns(streamId, offset, EVERYTHING), {
        firstOffset: 0,
        nextOffset: 100,
        epoch: 0,
        runs: [],
      });
    }
  });

  test('runs come up to the bytes that are asked for, and one at least', async () => {
    const { coordinator } = bench();
    const streamId = await hundred(coordinator);
    const find = async (maxBytes: number): Promise<number> =>
      (await coordinator.findRuns(streamId, 15, { maxRuns: 5, maxBytes })).runs.length;
    assert.deepEqual(
      [await find(0), await find(100), await find(101), await find(250), await find(1e9)],
      [1, 1, 2, 3, 5],
    );
  });

  test('a run that covers no offset is not found by offset', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    await commitRuns(coordinator, [sampleRun(streamId, 0, 0, { trackingBytes: 50 })]);
    await commitRuns(coordinator, [sampleRun(streamId, 0, 5)]);
    await commitRuns(coordinator, [sampleRun(streamId, 5, 0, { trackingBytes: 50 })]);
    assert.deepEqual(starts(await coordinator.findRuns(streamId, 0, EVERYTHING)), [0]);
    assert.equal((await coordinator.streamTotals(streamId)).runs, 3);
  });

  test('a timestamp finds the first run that may hold it or a later one, also where time went back', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    const spans = [
      [100, 200],
      [150, 160],
      [50, 60],
      [300, 400],
      [250, 260],
    ] as const;
    for (const [index, [firstTimestamp, lastTimestamp]] of spans.entries()) {
      await commitRuns(coordinator, [sampleRun(streamId, index * 10, 10, { firstTimestamp, lastTimestamp })]);
    }
    const expected: [number, number | undefined][] = [
      [-5, 0],
      [200, 0],
      [201, 30],
      [400, 30],
      [401, undefined],
    ];
    for (const [timestamp, offset] of expected)
      assert.equal(await coordinator.listOffsets(streamId, timestamp), offset);
    await coordinator.trim(streamId, 5);
    assert.equal(await coordinator.listOffsets(streamId, 0), 5);
    await coordinator.trim(streamId, 10);
    assert.equal(await coordinator.listOffsets(streamId, 161), 30);
  });
}

function trimming(bench: () => Bench, { test }: TestFunctions): void {
  test('a trim moves the log start to any offset, and only whole runs below it die', async () => {
    const { coordinator, reopen } = bench();
    const streamId = await hundred(coordinator);
    assert.deepEqual(await coordinator.trim(streamId, 25), { firstOffset: 25, runs: 2, bytes: 200 });
    assert.deepEqual(await coordinator.trim(streamId, 7), { firstOffset: 25, runs: 0, bytes: 0 });
    assert.deepEqual(await coordinator.trim(streamId, 30), { firstOffset: 30, runs: 1, bytes: 100 });
    await reopen();
    const found = await bench().coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    assert.equal(found.firstOffset, 30);
    assert.deepEqual(starts(found), [30]);
  });

  test('below the log start, reading begins at the log start', async () => {
    const { coordinator } = bench();
    const streamId = await hundred(coordinator);
    await coordinator.trim(streamId, 55);
    assert.deepEqual(starts(await coordinator.findRuns(streamId, 3, { maxRuns: 1, maxBytes: 1 })), [50]);
  });

  test('a trim at the high watermark leaves nothing, and appending goes on from there', async () => {
    const { coordinator } = bench();
    const streamId = await hundred(coordinator);
    assert.equal((await coordinator.trim(streamId, 100)).runs, 10);
    assert.deepEqual(await allRuns(coordinator, streamId), []);
    await commitRuns(coordinator, [sampleRun(streamId, 100, 1)]);
    assert.equal((await coordinator.streamTotals(streamId)).records, 1);
    assert.equal((await coordinator.stats()).objects.committed, 1);
  });

  test('a trim beyond the high watermark is refused', async () => {
    const { coordinator } = bench();
    const streamId = await hundred(coordinator);
    await assert.rejects(coordinator.trim(streamId, 101), withCode('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
    await assert.rejects(coordinator.trim(streamId, -1), withCode('ERR_MILLRACE_INVALID_ARGUMENT'));
    assert.equal((await coordinator.streamTotals(streamId)).firstOffset, 0);
  });

  test('an object dies with its last run, whichever stream that was of', async () => {
    const { coordinator } = bench();
    const one = await makeStream(coordinator, 'one');
    const two = await makeStream(coordinator, 'two');
    const key = await commitRuns(coordinator, [sampleRun(one, 0, 5), sampleRun(two, 0, 5, { byteLength: 70 })]);
    await coordinator.trim(one, 5);
    const [object] = await coordinator.listObjects({});
    assert.deepEqual([object!.liveBytes, object!.liveRuns], [70, 1]);
    assert.deepEqual(
      (await coordinator.objectRuns(key)).map(({ streamId }) => streamId),
      [two],
    );
    await coordinator.deleteStream(two);
    assert.deepEqual(await coordinator.classifyKeys([key]), ['deleting']);
    assert.deepEqual(await coordinator.objectRuns(key), []);
  });
}

function totals(bench: () => Bench, { test }: TestFunctions): void {
  test('totals are exact, also when the log start lies inside a dense run', async () => {
    const { coordinator } = bench();
    const streamId = await hundred(coordinator);
    await coordinator.trim(streamId, 25);
    assert.deepEqual(await coordinator.streamTotals(streamId), {
      firstOffset: 25,
      nextOffset: 100,
      epoch: 0,
      records: 75,
      userBytes: 800,
      trackingBytes: 0,
      storedBytes: 800,
      runs: 8,
      segments: 8,
      firstTimestamp: 20,
      lastTimestamp: 100,
      heldBytes: 0,
    });
  });

  test('a sparse run counts its records, and whole when it is cut', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    await commitRuns(coordinator, [sampleRun(streamId, 0, 10, { records: 4 })]);
    await commitRuns(coordinator, [sampleRun(streamId, 10, 10)]);
    assert.equal((await coordinator.streamTotals(streamId)).records, 14);
    await coordinator.trim(streamId, 5);
    assert.equal((await coordinator.streamTotals(streamId)).records, 14);
    await coordinator.trim(streamId, 12);
    assert.equal((await coordinator.streamTotals(streamId)).records, 8);
  });

  test('a stream without records has no timestamps', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    await commitRuns(coordinator, [sampleRun(streamId, 0, 0, { trackingBytes: 9 })]);
    const { firstTimestamp, lastTimestamp, trackingBytes, segments } = await coordinator.streamTotals(streamId);
    assert.deepEqual([firstTimestamp, lastTimestamp, trackingBytes, segments], [undefined, undefined, 9, 1]);
  });

  test('runs of one stream in one object are one segment', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    await commitRuns(coordinator, [sampleRun(streamId, 0, 5), sampleRun(streamId, 5, 5)]);
    const { runs: count, segments } = await coordinator.streamTotals(streamId);
    assert.deepEqual([count, segments], [2, 1]);
  });
}
