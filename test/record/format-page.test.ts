/** The page `docs/formats/frame.md` is a promise to strangers: its tables and examples are held against the code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { viewOf } from '../../src/base/bytes.ts';
import {
  FRAME_FIELD,
  FRAME_HEADER_BYTES,
  FRAME_KIND,
  RECORD_HEADER_BYTES,
  SPARSE_RECORD_HEADER_BYTES,
} from '../../src/record/frame-format.ts';
import { frameProblem, readFrameHeader } from '../../src/record/frame-reader.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { encodeFrame, type FrameRecord } from '../support/frames.ts';
import { FormatPage } from '../support/format-page.ts';

// Tests run from `dist/test/record`.
const PAGE = new FormatPage(readFileSync(new URL('../../../docs/formats/frame.md', import.meta.url), 'utf8'));

const TIME = 1_700_000_000_000;
const RECORDS: readonly FrameRecord[] = [
  { key: Buffer.from('k'), value: Buffer.from('hello'), timestamp: TIME },
  { key: Buffer.from('k'), value: null, timestamp: TIME + 1_000 },
  { key: null, value: Buffer.from('mill'), timestamp: TIME + 1_000 },
];
const SPARSE = RECORDS.map((record, index) => ({ ...record, skipped: index === 1 ? 2 : 0 }));
const IDENTITY = { streamId: 7, firstOffset: 42, epoch: 0 };

describe('the page of the frame format', () => {
  it('names every field of the header where the code has it', () => {
    const { positions, end } = PAGE.table('Header');
    assert.deepEqual(positions, Object.values(FRAME_FIELD));
    assert.equal(end, FRAME_HEADER_BYTES);
  });

  it('names every field of a record', () => {
    const { positions, end } = PAGE.table('Record');
    assert.deepEqual(positions, [0, 4, 8, 12]);
    assert.equal(end, SPARSE_RECORD_HEADER_BYTES);
    assert.equal(positions.at(-1), RECORD_HEADER_BYTES);
  });

  it('names every kind', () => {
    const rows = [...PAGE.text.matchAll(/^\| (\d) \| (\w+) \| [^|]*\|$/gm)].map(([, kind, name]) => [
      name,
      Number(kind),
    ]);
    assert.deepEqual(Object.fromEntries(rows), FRAME_KIND);
  });

  for (const [name, records, offsets] of [
    ['dense', RECORDS, [42, 43, 44]],
    ['sparse', SPARSE, [42, 45, 46]],
  ] as const) {
    it(`shows the bytes that are written, and that are read back (${name})`, () => {
      const shown = PAGE.dump(`hexdump ${name}`);
      assert.equal(shown.toString('hex'), Buffer.from(encodeFrame(records, IDENTITY)).toString('hex'));
      assert.equal(frameProblem(readFrameHeader(viewOf(shown), 0), 0, shown.length), undefined);
      const batch = RecordBatch.decode(shown, { name: 'page', baseOffset: 0 }, 0, Infinity);
      assert.deepEqual(
        [...batch].map(({ offset }) => offset),
        offsets,
      );
      assert.deepEqual(
        [...batch].map(({ key, value }) => [key && String(key), value && String(value)]),
        [
          ['k', 'hello'],
          ['k', null],
          [null, 'mill'],
        ],
      );
      assert.deepEqual(
        [...batch].map(({ timestamp }) => timestamp),
        [TIME, TIME + 1_000, TIME + 1_000],
      );
    });
  }
});
