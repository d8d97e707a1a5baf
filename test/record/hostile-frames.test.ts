/** Frames that nobody wrote: whatever the bytes are, a reader gives records out of those bytes, or a coded error. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { viewOf } from '../../src/base/bytes.ts';
import { isMillraceError, MillraceError } from '../../src/errors/millrace-error.ts';
import { FRAME_FIELD, FRAME_HEADER_BYTES } from '../../src/record/frame-format.ts';
import { frameProblem, frameTimestamps, readFrameHeader, walkFrames } from '../../src/record/frame-reader.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { encodeFrame } from '../support/frames.ts';

const RECORDS = [
  { key: Buffer.from('key'), value: Buffer.from('value'), timestamp: 1_000 },
  { key: null, value: Buffer.from('another value'), timestamp: 999 },
  { key: Buffer.from(''), value: null, timestamp: 2_000 },
];
const SPARSE = RECORDS.map((record, index) => ({ ...record, skipped: index }));

/** A frame amid bytes that must not be reached: reads beyond it would give 0xee. */
function guarded(frame: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(frame.length + 128).fill(0xee);
  bytes.set(frame, 64);
  return bytes.subarray(64, 64 + frame.length);
}

/** Decodes and touches everything; returns whether the bytes were taken. */
function read(frame: Uint8Array): boolean {
  let batch: RecordBatch;
  try {
    batch = RecordBatch.decode(frame, { name: 'hostile', baseOffset: 0 }, 0, Infinity);
  } catch (error) {
    assert.ok(isMillraceError(error, 'ERR_MILLRACE_SEGMENT_CORRUPT'), String(error));
    assert.equal(error.details['file'], 'hostile');
    return false;
  }
  let content = 0;
  let previous = -1;
  for (const { offset, timestamp, key, value } of batch) {
    assert.ok(offset > previous && Number.isSafeInteger(offset));
    assert.ok(!Number.isNaN(timestamp));
    previous = offset;
    for (const part of [key, value]) {
      if (part === null) continue;
      content += part.length;
      const start = part.byteOffset - frame.byteOffset;
      assert.ok(part.length === 0 || (start >= 0 && start + part.length <= frame.length), 'inside its frame');
    }
  }
  assert.ok(content <= frame.length, 'no byte is given out twice');
  walkFrames(
    viewOf(frame),
    0,
    frame.length,
    () => new MillraceError('ERR_MILLRACE_SEGMENT_CORRUPT', ''),
    (header, at) => {
      const times = frameTimestamps(viewOf(frame), at, header);
      assert.ok(times === undefined || times.first <= times.last);
    },
  );
  return true;
}

describe('a frame that was changed', () => {
  for (const [name, records] of [
    ['dense', RECORDS],
    ['sparse', SPARSE],
  ] as const) {
    it(`is read inside its bounds or refused, whichever byte of it changes (${name})`, () => {
      const frame = guarded(encodeFrame(records));
      let refused = 0;
      for (let index = 0; index < frame.length; index += 1) {
        for (let change = 1; change < 256; change += 1) {
          frame[index]! ^= change;
          if (!read(frame)) refused += 1;
          frame[index]! ^= change;
        }
      }
      assert.ok(refused > 1_000, `${refused} were refused`);
      assert.ok(read(frame));
    });

    it(`is refused wherever it is cut off (${name})`, () => {
      const frame = encodeFrame(records);
      for (let length = 1; length < frame.length; length += 1) {
        assert.equal(read(guarded(frame.subarray(0, length))), false, `${length} bytes`);
      }
      assert.ok(read(new Uint8Array(0)));
    });
  }

  it('is read inside its bounds or refused after any number of random changes', () => {
    const change = fc.tuple(fc.nat(1000), fc.oneof(fc.nat(255), fc.constantFrom(0, 0x7f, 0x80, 0xff)));
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 3 }),
        (changes, sparse, copies) => {
          const one = encodeFrame(sparse ? SPARSE : RECORDS);
          const frame = guarded(Buffer.concat(new Array<Uint8Array>(copies).fill(one)));
          for (const [at, byte] of changes) frame[at % frame.length] = byte;
          readUnordered(frame);
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('is read inside its bounds or refused when it is made of noise', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 48, maxLength: 400, size: 'max' }), (noise) => {
        readUnordered(guarded(noise));
      }),
      { numRuns: 2_000 },
    );
  });
});

/** As `read`, for several frames, whose offsets may repeat. */
function readUnordered(frame: Uint8Array): void {
  try {
    const batch = RecordBatch.decode(frame, { name: 'hostile', baseOffset: 0 }, 0, Infinity);
    let content = 0;
    for (const { key, value } of batch) content += (key?.length ?? 0) + (value?.length ?? 0);
    assert.ok(content <= frame.length);
  } catch (error) {
    assert.ok(isMillraceError(error, 'ERR_MILLRACE_SEGMENT_CORRUPT'), String(error));
  }
}

describe('the header of a frame', () => {
  const frame = encodeFrame(RECORDS);
  const problemAfter = (change: (view: DataView) => void): string | undefined => {
    const copy = frame.slice();
    change(viewOf(copy));
    return frameProblem(readFrameHeader(viewOf(copy), 0), 0, copy.length);
  };

  it('is refused with the field that is wrong', () => {
    const cases: [RegExp, (view: DataView) => void][] = [
      [/^frame length 40$/, (view) => view.setUint32(FRAME_FIELD.frameBytes, 40, true)],
      [/^frame length 100$/, (view) => view.setUint32(FRAME_FIELD.frameBytes, 100, true)],
      [/^frame length 4096 where/, (view) => view.setUint32(FRAME_FIELD.frameBytes, 4096, true)],
      [/^offset out of range$/, (view) => view.setBigUint64(FRAME_FIELD.firstOffset, 1n << 53n, true)],
      [/^offset out of range$/, (view) => view.setBigUint64(FRAME_FIELD.firstOffset, (1n << 53n) - 2n, true)],
      [/^timestamp out of range$/, (view) => view.setBigInt64(FRAME_FIELD.timestamp, -(1n << 60n), true)],
      [/^frame kind 0$/, (view) => view.setUint8(FRAME_FIELD.kind, 0)],
      [/^frame kind 5$/, (view) => view.setUint8(FRAME_FIELD.kind, 5)],
      [/^frame flags 2$/, (view) => view.setUint8(FRAME_FIELD.flags, 2)],
      [/^frame extension of/, (view) => view.setUint16(FRAME_FIELD.extensionBytes, 65_532, true)],
      [/^\d+ records in \d+ bytes$/, (view) => view.setUint32(FRAME_FIELD.recordCount, 0xffff_ffff, true)],
      [/^3 records over 2 offsets$/, (view) => view.setUint32(FRAME_FIELD.offsetSpan, 2, true)],
      [/^3 records over 4 dense offsets$/, (view) => view.setUint32(FRAME_FIELD.offsetSpan, 4, true)],
      [/^3 records in a frame of kind 2$/, (view) => view.setUint8(FRAME_FIELD.kind, 2)],
    ];
    for (const [message, change] of cases) assert.match(problemAfter(change) ?? '', message);
    assert.equal(
      problemAfter(() => undefined),
      undefined,
    );
  });

  it('never lets a walk stand still', () => {
    const zeros = new Uint8Array(4 * FRAME_HEADER_BYTES);
    assert.throws(
      () => RecordBatch.decode(zeros, { name: 'zeros', baseOffset: 0 }, 0, 1),
      (error) =>
        isMillraceError(error, 'ERR_MILLRACE_SEGMENT_CORRUPT') && /zeros: frame length 0 at byte 0/.test(error.message),
    );
  });
});
