/** What opening a stream reads for its tracking. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TRACKING_ENTRY, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { FlushedStream } from '../support/flushed-stream.ts';
import { coded } from '../support/test-store.ts';

function offset(reference: string, value: number): TrackingEntry {
  return { type: TRACKING_ENTRY.offset, reference, offset: value };
}

/** Reads of one run: its segment's size and footer, and a chunk. */
const READS_OF_A_RUN = 4;

test('a stream of 100,000 runs and 10,000 references opens from one snapshot and the deltas behind it', async () => {
  const stream = await FlushedStream.open(4 * 1024 * 1024);
  await stream.pretend(100, 1_000);
  const references = Array.from({ length: 10_000 }, (_, index) => offset(`consumer ${index}`, index));
  stream.log.append(['a record']);
  await stream.flush(references);
  for (let delta = 0; delta < 3; delta += 1) {
    stream.log.track([offset('consumer 7', 100_000 + delta)]);
    await stream.flush();
  }
  const before = stream.reads;
  const { state, debt } = await stream.load();
  const reads = stream.reads - before;
  assert.ok(reads <= 4 * READS_OF_A_RUN, `${reads} reads`);
  assert.equal(state.offsets.size, 10_000);
  assert.equal(state.offsets.get('consumer 7'), 100_002);
  assert.equal(state.offsets.get('consumer 9999'), 9_999);
  assert.equal(debt.runs, 3);
});

test('without a snapshot all tracking is read, and runs without any are not', async () => {
  const stream = await FlushedStream.open();
  for (let run = 0; run < 6; run += 1) {
    stream.log.append([`record ${run}`]);
    if (run % 2 === 0) stream.log.track([offset(`run ${run}`, run), offset('each', run)]);
    await stream.flush();
  }
  const before = stream.reads;
  const { state, debt } = await stream.load();
  assert.ok(stream.reads - before <= 3 * READS_OF_A_RUN);
  assert.deepEqual(
    [...state.offsets],
    [
      ['run 0', 0],
      ['each', 4],
      ['run 2', 2],
      ['run 4', 4],
    ],
  );
  assert.equal(debt.runs, 3);
});

test('a snapshot replaces what came before it, removals included', async () => {
  const stream = await FlushedStream.open();
  stream.log.append(['x']);
  stream.log.track([offset('a', 0), offset('b', 0)]);
  await stream.flush();
  stream.log.track([{ type: TRACKING_ENTRY.offsetRemoved, reference: 'a' }]);
  await stream.flush([offset('b', 0)]);
  assert.deepEqual([...(await stream.load()).state.offsets], [['b', 0]]);
  await stream.flush([]);
  const { state, debt } = await stream.load();
  assert.ok(state.isEmpty);
  assert.deepEqual(debt, { bytes: 0, runs: 0 });
});

test('what the WAL says comes last, and consumers below the log start are evicted', async () => {
  const stream = await FlushedStream.open();
  stream.log.append(['0', '1', '2', '3']);
  stream.log.track([offset('low', 1), offset('high', 3), offset('back', 3)]);
  await stream.flush();
  await stream.coordinator.trim(stream.streamId, 2);
  const { state } = await stream.load([offset('back', 0), offset('new', 3)]);
  assert.deepEqual([...state.offsets].sort(), [
    ['high', 3],
    ['new', 3],
  ]);
});

test('publishing ids come back from the snapshot, the deltas behind it and the WAL, the last one of each', async () => {
  const published = (reference: string, publishingId: number): TrackingEntry => ({
    type: TRACKING_ENTRY.publisher,
    reference,
    publishingId,
    offset: 0,
  });
  const stream = await FlushedStream.open();
  stream.log.append(['x']);
  await stream.flush(['a', 'b', 'c'].map((reference) => published(reference, 1)));
  stream.log.track([published('b', 2), published('c', 2)]);
  await stream.flush();
  const { state } = await stream.load([published('c', 3)]);
  const ids = [...state.publishers].map(([reference, { publishingId }]) => [reference, publishingId]);
  assert.deepEqual(Object.fromEntries(ids), { a: 1, b: 2, c: 3 });
});

test('a chunk that is not what the manifest says of it is damage', async () => {
  const stream = await FlushedStream.open();
  stream.log.append(['x']);
  stream.log.track([offset('a', 0)]);
  await stream.flush();
  const { coordinator } = stream;
  const find = coordinator.findTrackingRuns.bind(coordinator);
  coordinator.findTrackingRuns = async (streamId) =>
    (await find(streamId)).map((run) => ({ ...run, trackingSnapshot: true }));
  await assert.rejects(stream.load(), coded('ERR_MILLRACE_SEGMENT_CORRUPT', 'snapshot'));
});
