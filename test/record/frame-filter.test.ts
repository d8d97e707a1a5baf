/** Frames with records left out, decoded by the reader that everyone uses. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { viewOf } from '../../src/base/bytes.ts';
import { MillraceError } from '../../src/errors/millrace-error.ts';
import { FRAME_ALIGNMENT, FRAME_FIELD, FRAME_FLAG } from '../../src/record/frame-format.ts';
import { FrameFilter } from '../../src/record/frame-filter.ts';
import { frameProblem, readFrameHeader } from '../../src/record/frame-reader.ts';
import { RecordBatch, type StreamRecord } from '../../src/record/record-batch.ts';
import { walkRecords } from '../../src/record/record-walk.ts';
import { frameOf, type WrittenRecord } from '../compaction/world.ts';

const written: fc.Arbitrary<WrittenRecord[]> = fc.array(
  fc.record({
    key: fc.option(fc.string({ maxLength: 9 }), { nil: null }),
    value: fc.option(fc.string({ maxLength: 30 }), { nil: null }),
    timestamp: fc.integer({ min: -1_000, max: 1_000 }),
  }),
  { minLength: 1, maxLength: 30, size: 'max' },
);
const corrupt = (problem: string): MillraceError => new MillraceError('ERR_MILLRACE_SEGMENT_CORRUPT', problem);

function decode(bytes: Uint8Array, baseOffset = 0): StreamRecord[] {
  return [...RecordBatch.decode(bytes, { name: 'test', baseOffset }, 0, Infinity)];
}

suite('a filtered frame', () => {
  test('holds what was kept, at its own offsets, and nothing else', () => {
    const filter = new FrameFilter();
    fc.assert(
      fc.property(
        written,
        fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }),
        fc.nat(2 ** 40),
        (records, keep, base) => {
          const { bytes, view } = frameOf(7, 100, records, 5_000);
          const header = readFrameHeader(view, 0);
          const all = decode(bytes, base);
          const kept = all.filter((_, index) => keep[index]);
          const frame = filter.filter(bytes, view, 0, header, base, ({ index }) => keep[index] ?? false, corrupt);
          if (kept.length === 0) {
            assert.equal(frame, undefined);
            return;
          }
          assert.ok(frame !== undefined);
          const { frameBytes } = frame.header;
          assert.equal(frameBytes % FRAME_ALIGNMENT, 0);
          const copy = frame.bytes.slice(0, frameBytes);
          assert.deepEqual(readFrameHeader(viewOf(copy), 0), frame.header);
          assert.equal(frameProblem(frame.header, 0, frameBytes), undefined);
          assert.deepEqual(decode(copy), kept);
          const dense = frame.header.recordCount === frame.header.offsetSpan;
          assert.equal((frame.header.flags & FRAME_FLAG.sparse) === 0, dense, 'sparse only where it has to be');
          const userBytes = kept.reduce((sum, { key, value }) => sum + (key?.length ?? 0) + (value?.length ?? 0), 0);
          assert.equal(frame.header.userBytes, userBytes);
        },
      ),
    );
  });

  test('can be filtered again', () => {
    const first = new FrameFilter();
    const second = new FrameFilter();
    fc.assert(
      fc.property(written, fc.integer({ min: 2, max: 5 }), fc.integer({ min: 2, max: 5 }), (records, left, right) => {
        const { bytes, view } = frameOf(7, 0, records, 0);
        const once = first.filter(
          bytes,
          view,
          0,
          readFrameHeader(view, 0),
          0,
          ({ delta }) => delta % left !== 1,
          corrupt,
        );
        if (once === undefined) return;
        const odd = ({ delta }: { delta: number }): boolean => (once.header.firstOffset + delta) % right !== 1;
        const twice = second.filter(once.bytes, once.view, 0, once.header, 0, odd, corrupt);
        const expected = decode(bytes).filter(({ offset }) => offset % left !== 1 && offset % right !== 1);
        assert.deepEqual(twice === undefined ? [] : decode(twice.bytes.slice(0, twice.header.frameBytes)), expected);
      }),
    );
  });

  test('larger than any before gets the room it needs', () => {
    const { bytes, view } = frameOf(
      7,
      0,
      [{ value: 'x'.repeat(300_000) }, { value: 'y' }, { value: 'z'.repeat(200_000) }],
      0,
    );
    const kept = new FrameFilter().filter(
      bytes,
      view,
      0,
      readFrameHeader(view, 0),
      0,
      ({ index }) => index !== 1,
      corrupt,
    );
    assert.ok(kept !== undefined);
    assert.deepEqual(
      decode(kept.bytes.slice(0, kept.header.frameBytes)).map(({ offset }) => offset),
      [0, 2],
    );
  });
});

test('a record that does not fit its frame is refused, wherever the damage is', () => {
  const { bytes } = frameOf(7, 0, [{ key: 'key', value: 'value' }, { value: 'another' }], 0);
  for (const position of [48, 49, 50, 51, 52, 53, 54, 55]) {
    const damaged = bytes.slice();
    damaged[position] = 0xfe;
    const view = viewOf(damaged);
    const walk = (): void =>
      walkRecords(view, 0, readFrameHeader(view, 0), corrupt, ({ contentAt, keyBytes, valueBytes }) => {
        assert.ok(contentAt + Math.max(0, keyBytes) + Math.max(0, valueBytes) <= damaged.length);
      });
    if ([48, 52].includes(position)) assert.throws(walk, MillraceError);
    else assert.throws(walk);
  }
  const sparse = bytes.slice();
  sparse[FRAME_FIELD.flags] = FRAME_FLAG.sparse;
  const view = viewOf(sparse);
  assert.throws(() => walkRecords(view, 0, readFrameHeader(view, 0), corrupt, () => undefined), MillraceError);
});
