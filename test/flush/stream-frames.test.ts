/** What the frames of a filling come to, held against a plain array that is appended to and cut. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { viewOf } from '../../src/base/bytes.ts';
import { type SettledFrames, settleFrames } from '../../src/flush/stream-frames.ts';
import { cutFrame } from '../../src/record/frame-cut.ts';
import { readFrameHeader } from '../../src/record/frame-reader.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { TRACKING_ENTRY } from '../../src/record/tracking-format.ts';
import { TrackingState } from '../../src/record/tracking-state.ts';
import { trackingIn } from '../../src/record/tracking-frames.ts';
import { FrameLog, type LoggedRecord } from '../support/frame-log.ts';

/** Readable records of what was settled. */
function recordsOf(log: FrameLog, settled: SettledFrames): LoggedRecord[] {
  return settled.frames.flatMap(({ at, cutAt }) => {
    const frame =
      cutAt === Infinity
        ? log.bytes.slice(at, at + readFrameHeader(log.view, at).frameBytes)
        : cutFrame(log.bytes, at, cutAt);
    assert.equal(readFrameHeader(viewOf(frame), 0).frameBytes, frame.length);
    const batch = RecordBatch.decode(frame, { name: 'the log', baseOffset: 0 }, 0, Infinity);
    return [...batch].map(({ offset, value, epoch }) => ({ offset, value: String(value), epoch }));
  });
}

type Step =
  | { readonly do: 'append'; readonly count: number; readonly publisher: string | undefined }
  | { readonly do: 'store'; readonly reference: string; readonly share: number }
  | { readonly do: 'truncate'; readonly share: number }
  | { readonly do: 'seal' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      count: fc.integer({ min: 1, max: 5 }),
      publisher: fc.option(fc.constantFrom('p', 'q'), { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('store' as const),
      reference: fc.constantFrom('a', 'b'),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('truncate' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'seal' as const }) },
);

function run(log: FrameLog, move: Step, ids: Map<string, number>): void {
  if (move.do === 'append') {
    const values = Array.from({ length: move.count }, (_, index) => `${log.epoch}/${log.nextOffset + index}`);
    if (move.publisher === undefined) {
      log.append(values);
      return;
    }
    const publishingId = (ids.get(move.publisher) ?? 0) + move.count;
    ids.set(move.publisher, publishingId);
    log.append(values, { reference: move.publisher, publishingId });
  } else if (move.do === 'store') {
    if (log.nextOffset === 0) return;
    const offset = Math.floor(move.share * (log.nextOffset - 1));
    log.track([{ type: TRACKING_ENTRY.offset, reference: move.reference, offset }]);
  } else if (move.do === 'truncate') {
    log.truncate(Math.round(move.share * log.nextOffset));
  }
}

test('fillings settle to the records, the end and the epoch of a plain array, however often it is cut', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const log = new FrameLog();
      const ids = new Map<string, number>();
      let stored: LoggedRecord[] = [];
      let end = 0;
      let epoch = 0;
      const flush = (): void => {
        const positions = log.seal();
        if (positions.length === 0) return;
        const settled = settleFrames(log.view, positions);
        const { truncation, frames } = settled;
        if (truncation !== undefined) {
          assert.ok(truncation.nextOffset <= end, 'a truncation never lies beyond what is stored');
          assert.ok(truncation.epoch > epoch && truncation.epoch <= settled.epoch);
          end = truncation.nextOffset;
          stored = stored.filter(({ offset }) => offset < end);
        }
        // The run continues what is stored, and its own frames leave no gap.
        assert.equal(frames[0]?.firstOffset ?? settled.nextOffset, end);
        for (const frame of frames) {
          assert.equal(frame.firstOffset, end);
          end = Math.min(frame.nextOffset, frame.cutAt);
        }
        assert.equal(end, settled.nextOffset);
        stored.push(...recordsOf(log, settled));
        epoch = settled.epoch;
      };
      for (const move of [...steps, { do: 'seal' as const }]) {
        run(log, move, ids);
        if (move.do === 'seal') flush();
      }
      assert.deepEqual(stored, log.records);
      assert.equal(end, log.nextOffset);
      assert.equal(epoch, log.epoch);
    }),
    { numRuns: 1_000 },
  );
});

test('no tracking outlives its record: not in a filling, not behind a snapshot at any seal, not after a replay', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.array(fc.boolean(), { maxLength: 10 }), (steps, snapshots) => {
      const log = new FrameLog();
      const ids = new Map<string, number>();
      // What the log says frame by frame, as the writer follows it.
      const truth = new TrackingState();
      // What a reader of segments finds: a snapshot or a delta for each filling.
      const found = new TrackingState();
      let seals = 0;
      const seal = (): void => {
        const positions = log.seal();
        for (const at of positions) truth.apply(trackingIn(log.view, at, readFrameHeader(log.view, at)));
        if (positions.length === 0) return;
        if (snapshots[seals] === true) found.replace(truth.snapshot());
        else found.apply(settleFrames(log.view, positions).tracking);
        seals += 1;
        assert.deepEqual(new Map([...found.offsets].sort()), new Map([...truth.offsets].sort()));
        assert.deepEqual([...found.publishers], [...truth.publishers]);
        // A crash before the commit is forgotten: the same filling is settled and applied again.
        found.apply(settleFrames(log.view, positions).tracking);
        for (const [, { offset }] of found.publishers) assert.ok(offset < log.nextOffset);
        for (const [, offset] of found.offsets) assert.ok(offset < log.nextOffset);
      };
      for (const move of [...steps, { do: 'seal' as const }]) {
        run(log, move, ids);
        if (move.do === 'seal') seal();
      }
    }),
    { numRuns: 1_000 },
  );
});

test('a truncation right where the stream ends cuts no frame, and still raises the epoch', () => {
  const log = new FrameLog(100);
  log.append(['a', 'b'], { reference: 'p', publishingId: 2 });
  log.truncate(102);
  const settled = settleFrames(log.view, log.positions);
  assert.equal(settled.frames[0]?.cutAt, Infinity);
  assert.equal(settled.truncation, undefined);
  assert.equal(settled.epoch, 1);
  assert.equal(settled.nextOffset, 102);
});

test('several truncations in one filling count as the deepest, under the epoch of the last that reached so far', () => {
  const log = new FrameLog(100);
  log.truncate(50);
  log.append(['50', '51']);
  log.truncate(30);
  log.append(['30', '31', '32']);
  log.truncate(32);
  const settled = settleFrames(log.view, log.positions);
  assert.deepEqual(settled.truncation, { nextOffset: 30, epoch: 2 });
  assert.equal(settled.epoch, 3);
  assert.deepEqual(
    recordsOf(log, settled).map(({ value }) => value),
    ['30', '31'],
  );
});
