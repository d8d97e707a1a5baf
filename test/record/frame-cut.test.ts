import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { viewOf } from '../../src/base/bytes.ts';
import { cutFrame } from '../../src/record/frame-cut.ts';
import { frameProblem, readFrameHeader } from '../../src/record/frame-reader.ts';
import { RecordBatch, type StreamRecord } from '../../src/record/record-batch.ts';
import { trackingIn } from '../../src/record/tracking-frames.ts';
import { FrameLog } from '../support/frame-log.ts';
import { encodeFrame, type FrameRecord } from '../support/frames.ts';

const bytes = fc.option(fc.uint8Array({ maxLength: 20 }), { nil: null });
const record: fc.Arbitrary<FrameRecord> = fc.record({
  key: bytes,
  value: bytes,
  timestamp: fc.integer({ min: -1_000, max: 1_000 }),
  skipped: fc.nat({ max: 2 }),
});

function decode(frame: Uint8Array): StreamRecord[] {
  return [...RecordBatch.decode(frame, { name: 'the frame', baseOffset: 0 }, 0, Infinity)];
}

test('a cut frame holds exactly the records below the cut, dense or sparse, wherever the cut lies', () => {
  fc.assert(
    fc.property(
      fc.array(record, { minLength: 1, maxLength: 20 }),
      fc.nat({ max: 50 }),
      fc.nat({ max: 70 }),
      (records, firstOffset, cut) => {
        const frame = encodeFrame(records, { firstOffset, epoch: 3 });
        const end = firstOffset + 1 + (cut % readFrameHeader(viewOf(frame), 0).offsetSpan);
        const short = cutFrame(frame, 0, end);
        const header = readFrameHeader(viewOf(short), 0);
        assert.equal(frameProblem(header, 0, short.length), undefined);
        assert.equal(header.frameBytes, short.length);
        assert.equal(header.firstOffset + header.offsetSpan, end);
        const kept = decode(frame).filter(({ offset }) => offset < end);
        assert.deepEqual(decode(short), kept);
        const userBytes = kept.reduce((sum, { key, value }) => sum + (key?.length ?? 0) + (value?.length ?? 0), 0);
        assert.equal(header.userBytes, userBytes);
        assert.equal(header.recordCount, kept.length);
      },
    ),
    { numRuns: 500 },
  );
});

test("a cut frame no longer carries its publisher's mark, for that record is cut", () => {
  const log = new FrameLog(10);
  log.append(['a', 'b', 'c'], { reference: 'publisher', publishingId: 9 });
  const short = cutFrame(log.bytes, 0, 12);
  assert.deepEqual(trackingIn(viewOf(short), 0, readFrameHeader(viewOf(short), 0)), []);
  assert.deepEqual(
    decode(short).map(({ value }) => String(value)),
    ['a', 'b'],
  );
  // The original stays as it was.
  assert.equal(trackingIn(log.view, 0, readFrameHeader(log.view, 0)).length, 1);
});
