import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FRAME_FIELD, FRAME_HEADER_BYTES } from '../../src/record/frame-format.ts';
import { frameProblem, readFrameHeader } from '../../src/record/frame-reader.ts';
import { TRACKING_ENTRY, trackingBytes, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { trackingFrameBytes, trackingIn } from '../../src/record/tracking-frames.ts';
import { FrameLog } from '../support/frame-log.ts';
import { arbitraryEntry } from '../support/tracking.ts';

function trackingAt(log: FrameLog, index: number): TrackingEntry[] {
  const at = log.positions[index] ?? -1;
  const header = readFrameHeader(log.view, at);
  assert.equal(frameProblem(header, at, log.bytes.length), undefined);
  return trackingIn(log.view, at, header);
}

test('a tracking frame says what was put into it, in the bytes that were foreseen', () => {
  fc.assert(
    fc.property(fc.array(arbitraryEntry, { maxLength: 20 }), (entries) => {
      const log = new FrameLog(5);
      log.track(entries);
      assert.deepEqual(trackingAt(log, 0), entries);
      assert.equal(readFrameHeader(log.view, 0).frameBytes, trackingFrameBytes(trackingBytes(entries)));
    }),
  );
});

test("a publisher's frame says the id of its last record, others say nothing", () => {
  const log = new FrameLog(5);
  log.append(['a', 'b', 'c'], { reference: 'p', publishingId: 17 });
  log.append(['d']);
  assert.deepEqual(trackingAt(log, 0), [
    { type: TRACKING_ENTRY.publisher, reference: 'p', publishingId: 17, offset: 7 },
  ]);
  assert.deepEqual(trackingAt(log, 1), []);
});

test('a truncation says that the stream was cut', () => {
  const log = new FrameLog(5);
  log.append(['a', 'b']);
  log.truncate(6);
  assert.deepEqual(trackingAt(log, 1), [{ type: TRACKING_ENTRY.cut, offset: 6 }]);
});

test('lengths that do not fit the frame are not believed', () => {
  const log = new FrameLog();
  log.track([{ type: TRACKING_ENTRY.offset, reference: 'a', offset: 1 }]);
  const header = readFrameHeader(log.view, 0);
  for (const length of [header.frameBytes, 2 ** 32 - 1]) {
    log.view.setUint32(FRAME_HEADER_BYTES, length, true);
    assert.deepEqual(trackingIn(log.view, 0, header), []);
  }
  log.view.setUint32(FRAME_FIELD.frameBytes, FRAME_HEADER_BYTES, true);
  assert.deepEqual(trackingIn(log.view, 0, readFrameHeader(log.view, 0)), []);
});
