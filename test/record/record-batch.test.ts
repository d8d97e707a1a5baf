import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { viewOf } from '../../src/base/bytes.ts';
import { FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FRAME_KIND, recordBytes } from '../../src/record/frame-format.ts';
import { frameProblem, frameTimestamps, readFrameHeader } from '../../src/record/frame-reader.ts';
import { finishFrame, FrameMemory, writeRecord, writeTextRecord } from '../../src/record/frame-writer.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { findRecord } from '../../src/record/record-find.ts';
import { valueRoom } from '../../src/record/record-input.ts';
import { encodeFrame, type FrameRecord } from '../support/frames.ts';

const ORIGIN = { name: 'test', baseOffset: 0 };

const bytes = (maxLength: number): fc.Arbitrary<Uint8Array | null> =>
  fc.option(fc.uint8Array({ maxLength, size: 'max' }), { nil: null });
const record: fc.Arbitrary<FrameRecord> = fc.record({
  key: bytes(40),
  value: bytes(200),
  timestamp: fc.oneof(fc.integer({ min: -(2 ** 30), max: 2 ** 30 - 1 })),
  skipped: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(1000) }),
});
const frames = fc.array(fc.array(record, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 8 });

interface Expected {
  readonly offset: number;
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly epoch: number;
}

/** Frames one behind the other, from offset `base` on, and what should come out of them. */
function encodeAll(
  groups: readonly FrameRecord[][],
  base: number,
): { frames: Buffer; expected: Expected[]; end: number } {
  const encoded: Uint8Array[] = [];
  const expected: Expected[] = [];
  let offset = base;
  for (const [epoch, records] of groups.entries()) {
    encoded.push(encodeFrame(records, { firstOffset: offset, epoch }));
    for (const { key, value, timestamp, skipped } of records) {
      offset += skipped ?? 0;
      const copies = { key: key && Buffer.from(key), value: value && Buffer.from(value) };
      expected.push({ offset, timestamp, ...copies, epoch });
      offset += 1;
    }
  }
  return { frames: Buffer.concat(encoded), expected, end: offset };
}

function attempt<T>(read: () => T): T | 'corrupt' {
  try {
    return read();
  } catch (error) {
    assert.ok(isMillraceError(error, 'ERR_MILLRACE_SEGMENT_CORRUPT'));
    return 'corrupt';
  }
}

describe('a batch of records', () => {
  it('holds what was written: keys, values, tombstones, timestamps, offsets with and without gaps', () => {
    fc.assert(
      fc.property(frames, fc.nat(2 ** 50), (groups, base) => {
        const { frames: encoded, expected, end } = encodeAll(groups, base);
        const batch = RecordBatch.decode(encoded, ORIGIN, 0, Infinity);
        assert.deepEqual([...batch], expected);
        assert.equal(batch.length, expected.length);
        assert.equal(batch.nextOffset, end);
        assert.equal(batch.firstOffset, expected[0]!.offset);
      }),
    );
  });

  it('has the records that a search of the frames finds one by one, as copies', () => {
    fc.assert(
      fc.property(frames, fc.nat(1_000), (groups, base) => {
        const { frames: encoded, expected, end } = encodeAll(groups, base);
        const origin = { name: 'test', baseOffset: 7 };
        const found: unknown[] = [];
        for (let offset = base - 2; offset < end + 3; offset += 1) found.push(findRecord(encoded, origin, offset + 7));
        encoded.fill(0);
        const moved = expected.map((record) => ({ ...record, offset: record.offset + 7 }));
        assert.deepEqual(
          found.filter((record) => record !== undefined),
          moved,
        );
      }),
      { numRuns: 50 },
    );
  });

  it('is refused or read alike by a search for one record, whatever byte of its frames is changed', () => {
    fc.assert(
      fc.property(frames, fc.nat(), fc.nat(255), (groups, place, value) => {
        const { frames: encoded, expected } = encodeAll(groups, 0);
        encoded[place % encoded.length] = value;
        const whole = attempt(() => RecordBatch.decode(encoded, ORIGIN, 0, Infinity));
        for (const { offset } of expected) {
          const found = attempt(() => findRecord(encoded, ORIGIN, offset));
          // What lies behind the record is not looked at.
          if (whole === 'corrupt') assert.ok(found === 'corrupt' || found === undefined || found.offset === offset);
          else assert.deepEqual(found, whole.find(offset));
        }
      }),
    );
  });

  it('holds exactly the records of the range that was asked for', () => {
    fc.assert(
      fc.property(frames, fc.nat(60), fc.nat(60), (groups, from, length) => {
        const { frames: encoded, expected, end } = encodeAll(groups, 10);
        const to = from + length;
        const batch = RecordBatch.decode(encoded, ORIGIN, from, to);
        const inside = expected.filter(({ offset }) => offset >= from && offset < to);
        assert.deepEqual([...batch], inside);
        assert.equal(batch.nextOffset, Math.min(end, to));
      }),
    );
  });

  it('refuses frames that go back, or share offsets: a reader goes on behind the last one', () => {
    const frame = (firstOffset: number): Uint8Array =>
      encodeFrame(Array(3).fill({ key: null, value: Buffer.from('a'), timestamp: 0 }), { firstOffset });
    const decode = (...offsets: number[]): RecordBatch =>
      RecordBatch.decode(Buffer.concat(offsets.map(frame)), ORIGIN, 0, Infinity);
    assert.equal(decode(5, 8).nextOffset, 11);
    for (const second of [0, 2, 5, 7]) assert.throws(() => decode(5, second), { code: 'ERR_MILLRACE_SEGMENT_CORRUPT' });
  });

  it('counts offsets from the base that the coordinator assigned', () => {
    const { frames: encoded } = encodeAll([[{ key: null, value: Buffer.from('a'), timestamp: 0 }]], 5);
    const batch = RecordBatch.decode(encoded, { name: 'test', baseOffset: 2 ** 40 }, 0, Infinity);
    assert.deepEqual([batch.offset(0), batch.nextOffset], [2 ** 40 + 5, 2 ** 40 + 6]);
  });

  it('gives single fields as it gives whole records', () => {
    fc.assert(
      fc.property(frames, (groups) => {
        const batch = RecordBatch.decode(encodeAll(groups, 3).frames, ORIGIN, 0, Infinity);
        for (let index = 0; index < batch.length; index += 1) {
          const { offset, timestamp, key, value } = batch.record(index);
          assert.deepEqual(
            [batch.offset(index), batch.timestamp(index), batch.key(index), batch.value(index)],
            [offset, timestamp, key, value],
          );
        }
      }),
    );
  });

  it('finds a record by its offset, and the first one at or after a time', () => {
    fc.assert(
      fc.property(frames, fc.nat(200), fc.integer({ min: -(2 ** 30), max: 2 ** 30 }), (groups, offset, timestamp) => {
        const { frames: encoded, expected } = encodeAll(groups, 0);
        const batch = RecordBatch.decode(encoded, ORIGIN, 0, Infinity);
        assert.deepEqual(
          batch.find(offset),
          expected.find((entry) => entry.offset === offset),
        );
        assert.equal(
          batch.indexOfTimestamp(timestamp),
          expected.findIndex((entry) => entry.timestamp >= timestamp),
        );
      }),
    );
  });

  it('splits into a first part and a rest that are batches themselves', () => {
    fc.assert(
      fc.property(frames, fc.nat(30), (groups, count) => {
        const { frames: encoded, expected, end } = encodeAll(groups, 7);
        const batch = RecordBatch.decode(encoded, ORIGIN, 0, Infinity);
        const first = batch.first(count);
        const rest = batch.rest(Math.min(count, batch.length));
        assert.deepEqual([...first, ...rest], expected);
        assert.equal(first.length, Math.min(count, expected.length));
        assert.equal(rest.nextOffset, end);
        if (rest.length > 0) assert.equal(first.nextOffset, rest.firstOffset);
        assert.deepEqual([...rest.first(1)], expected.slice(count, count + 1));
      }),
    );
  });

  it('knows no record outside its range', () => {
    const batch = RecordBatch.decode(encodeAll([[{ key: null, value: null, timestamp: 0 }]], 0).frames, ORIGIN, 0, 9);
    for (const index of [-1, 1, 0.5 + 1, NaN]) assert.throws(() => batch.record(index), RangeError);
    assert.equal(RecordBatch.decode(new Uint8Array(0), ORIGIN, 4, 9).firstOffset, 4);
  });

  it('covers offsets that hold no record: lost ones, and those between sparse records', () => {
    const memory = new FrameMemory(new ArrayBuffer(64));
    const end = finishFrame(memory, 0, FRAME_HEADER_BYTES, {
      streamId: 1,
      firstOffset: 10,
      timestamp: 0,
      recordCount: 0,
      offsetSpan: 5,
      epoch: 0,
      userBytes: 0,
      kind: FRAME_KIND.lost,
      flags: 0,
      extensionBytes: 0,
    });
    const batch = RecordBatch.decode(memory.bytes.subarray(0, end), ORIGIN, 0, Infinity);
    assert.deepEqual([batch.length, batch.nextOffset, batch.firstOffset], [0, 15, 15]);
  });
});

describe('a frame', () => {
  it('takes the bytes that the formula says, padded with zeros', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 20 }), (records) => {
        const dense = records.map((each) => ({ ...each, skipped: 0 }));
        const frame = encodeFrame(dense);
        const content = dense.reduce(
          (sum, { key, value }) => sum + recordBytes(key?.length ?? 0, value?.length ?? 0),
          0,
        );
        assert.equal(frame.length, Math.ceil((FRAME_HEADER_BYTES + content) / FRAME_ALIGNMENT) * FRAME_ALIGNMENT);
        const header = readFrameHeader(viewOf(frame), 0);
        assert.equal(header.frameBytes, frame.length);
        assert.equal(frameProblem(header, 0, frame.length), undefined);
        assert.deepEqual(encodeFrame(dense), frame, 'equal records make equal bytes');
      }),
    );
  });

  it('knows its earliest and latest timestamp', () => {
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 20 }), (records) => {
        const frame = encodeFrame(records);
        const times = records.map(({ timestamp }) => timestamp);
        assert.deepEqual(frameTimestamps(viewOf(frame), 0, readFrameHeader(viewOf(frame), 0)), {
          first: Math.min(...times),
          last: Math.max(...times),
        });
      }),
    );
  });

  it('holds timestamps 2^31 - 1 ms apart, in both directions', () => {
    const at = 2 ** 50;
    for (const distance of [2 ** 31 - 1, -(2 ** 31) + 1]) {
      const frame = encodeFrame([
        { key: null, value: null, timestamp: at },
        { key: null, value: null, timestamp: at + distance },
      ]);
      assert.equal(RecordBatch.decode(frame, ORIGIN, 0, 9).timestamp(1), at + distance);
    }
  });

  it('holds text as its UTF-8 bytes, whatever the text is made of', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom('', '\u{1f600}'.repeat(10), '\ud800', 'a\udc00b', '\uffff\u0000'),
    );
    fc.assert(
      fc.property(text, bytes(9), (value, key) => {
        const room = recordBytes(key?.length ?? 0, valueRoom(value));
        const memory = new FrameMemory(new ArrayBuffer(Math.ceil((room + 8) / 8) * 8));
        memory.bytes.fill(0xaa);
        const end = writeTextRecord(memory, 0, key, value, 5);
        assert.ok(end <= room, 'the room was enough');
        assert.ok(
          memory.bytes.subarray(end).every((byte) => byte === 0xaa),
          'nothing behind it is touched',
        );
        const plain = new FrameMemory(new ArrayBuffer(memory.bytes.length));
        assert.equal(writeRecord(plain, 0, key, Buffer.from(value), 5), end);
        assert.deepEqual(memory.bytes.subarray(0, end), plain.bytes.subarray(0, end));
      }),
    );
  });
});
