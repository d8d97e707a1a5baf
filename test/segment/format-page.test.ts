/** The page `docs/formats/segment.md` is a promise to strangers: its tables and example are held against the code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { xxh64, loadChecksum } from '../../src/codec/checksum.ts';
import { CHUNK_FIELD, CHUNK_HEADER_BYTES } from '../../src/segment/chunk-format.ts';
import { chunkBody, chunkTrailer } from '../../src/segment/chunk-reader.ts';
import {
  FOOTER_FIELD,
  FOOTER_HEADER_BYTES,
  HEADER_FIELD,
  INDEX_ENTRY_BYTES,
  INDEX_FIELD,
  RUN_BYTES,
  RUN_FIELD,
  type SegmentFacts,
  SEGMENT_HEADER_BYTES,
  TAIL_BYTES,
  TAIL_FIELD,
} from '../../src/segment/format.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import { verifySegment } from '../../src/segment/verify.ts';
import { MemorySource, recordsChunk, text, writeSegment } from './fixture.ts';

// Tests run from `dist/test/segment`.
const PAGE = readFileSync(new URL('../../../docs/formats/segment.md', import.meta.url), 'utf8');

const EXAMPLE: SegmentFacts = {
  storeId: Uint8Array.from({ length: 16 }, (_, index) => index),
  objectKey: 'segments/example',
  createdAt: 1_700_000_000_000,
};

/** The segment that the page shows. */
async function example(): Promise<Buffer> {
  const { content } = await writeSegment(async (writer) => {
    const at = { firstTimestamp: 1_700_000_000_000, lastTimestamp: 1_700_000_000_000 };
    writer.beginRun(7, 42);
    await writer.addChunk(recordsChunk(7, 42, [text('hello'), text('mill')], { ...at, compression: 'none' }));
    await writer.addChunk(recordsChunk(7, 44, [text('a'.repeat(100))], { ...at, trailer: text('xyz') }));
    writer.endRun();
  }, EXAMPLE);
  return content;
}

/** The bytes of the page's hexadecimal dump; a line `*` stands for more lines of zeros. */
function dumpedBytes(): Buffer {
  const [, dump = ''] = /```hexdump\n([^`]*)```/.exec(PAGE) ?? [];
  const bytes: number[] = [];
  for (const line of dump.trimEnd().split('\n')) {
    if (line === '*') continue;
    const [position = '', ...values] = line.split(/ +/);
    while (bytes.length < Number.parseInt(position, 16)) bytes.push(0);
    assert.equal(bytes.length, Number.parseInt(position, 16), `line ${position}`);
    bytes.push(...values.map((value) => Number.parseInt(value, 16)));
  }
  return Buffer.from(bytes);
}

/** Field positions and their end in the table below the heading. */
function tableUnder(heading: string): { readonly positions: number[]; readonly end: number } {
  const section = PAGE.split(/^## /m).find((part) => part.startsWith(heading)) ?? '';
  const matches = [...section.matchAll(/^\| (\d+) \| (\d+) \|/gm)];
  const rows = matches.map(([, at, bytes]) => [Number(at), Number(bytes)] as const);
  let end = 0;
  for (const [at, bytes] of rows) {
    assert.equal(at, end, `${heading}: the field at ${at} follows the one before`);
    end += bytes;
  }
  return { positions: rows.map(([at]) => at), end };
}

describe('the page of the segment format', () => {
  before(loadChecksum);

  const tables = [
    ['Segment header', HEADER_FIELD, SEGMENT_HEADER_BYTES],
    ['Chunk', CHUNK_FIELD, CHUNK_HEADER_BYTES],
    ['Footer header', FOOTER_FIELD, FOOTER_HEADER_BYTES],
    ['Run table', RUN_FIELD, RUN_BYTES],
    ['Chunk index', INDEX_FIELD, INDEX_ENTRY_BYTES],
    ['Tail', TAIL_FIELD, TAIL_BYTES],
  ] as const;
  for (const [heading, fields, bytes] of tables) {
    it(`names every field where the code has it: ${heading}`, () => {
      const { positions, end } = tableUnder(heading);
      assert.deepEqual(
        positions,
        Object.values(fields).sort((left, right) => left - right),
      );
      assert.equal(end, bytes);
    });
  }

  it('shows the bytes that the writer writes', async () => {
    assert.equal(dumpedBytes().toString('hex'), (await example()).toString('hex'));
  });

  it('shows a segment that the reader reads', async () => {
    const source = new MemorySource(dumpedBytes());
    assert.deepEqual((await verifySegment(source, EXAMPLE)).problems, []);
    const reader = await SegmentReader.open(source, EXAMPLE);
    const [first, second] = await Promise.all([reader.chunk(0), reader.chunk(1)]);
    assert.match(chunkBody(first).toString(), /./);
    assert.ok(Buffer.from(chunkBody(first)).includes('hello'));
    assert.ok(Buffer.from(chunkBody(second)).includes('a'.repeat(100)));
    assert.equal(Buffer.from(chunkTrailer(second)).toString(), 'xyz');
  });

  it('states the checksums that its example has', () => {
    const content = dumpedBytes();
    const stated = [...PAGE.matchAll(/xxh64 of \[(\d+), (\d+)\)[^`]*`([0-9a-f]{16})`/g)];
    assert.ok(stated.length >= 4);
    for (const [claim, from, to, sum] of stated) {
      assert.equal(
        xxh64(content.subarray(Number(from), Number(to)))
          .toString(16)
          .padStart(16, '0'),
        sum,
        claim,
      );
    }
    const [, keyHash] = /xxh64 of `segments\/example` is `([0-9a-f]{16})`/.exec(PAGE) ?? [];
    assert.equal(xxh64(text('segments/example')).toString(16).padStart(16, '0'), keyHash);
  });
});
