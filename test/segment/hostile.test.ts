/** Lies with valid checksums: every claim in header and footer is held against what can be there. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { viewOf } from '../../src/base/bytes.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { CHUNK_RAW_BYTES_MAX } from '../../src/limits/limits.ts';
import { CHUNK_FIELD, CHUNK_HEADER_BYTES } from '../../src/segment/chunk-format.ts';
import { decodeChunk } from '../../src/segment/chunk-reader.ts';
import { streamChunks } from '../../src/segment/chunk-stream.ts';
import {
  FOOTER_FIELD,
  FOOTER_HEADER_BYTES,
  INDEX_ENTRY_BYTES,
  INDEX_FIELD,
  RUN_BYTES,
  RUN_FIELD,
} from '../../src/segment/format.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import {
  EXPECTED,
  FACTS,
  MemorySource,
  recordsChunk,
  repairChunk,
  repairFooter,
  smallSegment,
  text,
  writeSegment,
} from './fixture.ts';

type Write = (view: DataView, at: number) => void;
const u8 =
  (value: number): Write =>
  (view, at) =>
    view.setUint8(at, value);
const u32 =
  (value: number): Write =>
  (view, at) =>
    view.setUint32(at, value, true);
const u64 =
  (value: bigint): Write =>
  (view, at) =>
    view.setBigUint64(at, value, true);
const ALL_ONES = (1n << 64n) - 1n;

describe('a footer that lies', () => {
  before(loadChecksum);

  /** Changes the footer of the small segment (runs of streams 3, 3, 9 with 3, 1, 1 chunks) and repairs its checksum. */
  async function refusal(field: number, write: Write): Promise<string> {
    const content = await smallSegment();
    const { footer } = await SegmentReader.open(new MemorySource(content), EXPECTED);
    write(viewOf(content), footer.position + field);
    repairFooter(content, footer.position);
    try {
      await SegmentReader.open(new MemorySource(content), EXPECTED);
    } catch (error) {
      assert.ok(isMillraceError(error, 'ERR_MILLRACE_SEGMENT_CORRUPT'), String(error));
      return error.message;
    }
    return assert.fail('the lie was believed');
  }
  const run = (index: number, field: number): number => FOOTER_HEADER_BYTES + index * RUN_BYTES + field;
  const entry = (index: number, field: number): number =>
    FOOTER_HEADER_BYTES + 3 * RUN_BYTES + index * INDEX_ENTRY_BYTES + field;

  const lies: readonly (readonly [name: string, field: number, write: Write, expected: RegExp])[] = [
    ['about its magic', FOOTER_FIELD.magic, u32(1), /magic of a footer/],
    ['about the number of runs', FOOTER_FIELD.runs, u32(2), /found 2 runs and 5 chunks/],
    ['about four billion runs', FOOTER_FIELD.runs, u32(0xffff_ffff), /found 4294967295 runs/],
    ['about four billion chunks', FOOTER_FIELD.chunks, u32(0xffff_ffff), /found 3 runs and 4294967295 chunks/],
    ['about runs that end behind the footer', FOOTER_FIELD.runsEnd, u64(1n << 40n), /end within a page before/],
    ['about runs that end in the header', FOOTER_FIELD.runsEnd, u64(8n), /end within a page before/],
    ['about runs that end nowhere', FOOTER_FIELD.runsEnd, u64(ALL_ONES), /found NaN/],
    ['about runs that end elsewhere', FOOTER_FIELD.runsEnd, u64(1000n), /expected runs up to byte 1000|claims/],
    ['about the order of streams', run(2, RUN_FIELD.streamId), u32(2), /behind offset 201 of stream 3/],
    ['about overlapping offsets', run(1, RUN_FIELD.firstOffset), u64(102n), /behind offset 103 of stream 3/],
    ['about overlapping bytes', run(1, RUN_FIELD.byteOffset), u64(64n), /position 64 where \d+ is next/],
    ['about bytes beyond the runs', run(2, RUN_FIELD.byteLength), u64(1n << 40n), /1099511627776 bytes up to/],
    ['about a run of no chunks', run(2, RUN_FIELD.chunks), u32(0), /0 chunks of 5/],
    ['about chunks of the next run', run(0, RUN_FIELD.chunks), u32(4), /claims/],
    ['about more chunks than there are', run(2, RUN_FIELD.chunks), u32(2), /2 chunks of 5/],
    ['about its first chunk', run(1, RUN_FIELD.firstChunk), u32(2), /first chunk 2 where 3 is next/],
    ['about offsets that go back', run(0, RUN_FIELD.nextOffset), u64(99n), /offsets from 100 to 99/],
    ['about offsets beyond 2^53', run(0, RUN_FIELD.nextOffset), u64(ALL_ONES), /offsets from 100 to NaN/],
    ['about 2^40 records', run(0, RUN_FIELD.records), u64(1n << 40n), /1099511627776 records over 3 offsets/],
    ['about user bytes beyond 2^53', run(0, RUN_FIELD.userBytes), u64(ALL_ONES), /user bytes above/],
    ['about tracking bytes', run(0, RUN_FIELD.trackingBytes), u64(1n << 40n), /1099511627776 tracking bytes/],
    ['about its first timestamp', run(0, RUN_FIELD.firstTimestamp), u64(6n), /timestamps from 6 to 5/],
    ['about its last timestamp', run(0, RUN_FIELD.lastTimestamp), u64(6n), /latest timestamp of 5, not 6/],
    ['about timestamps beyond 2^53', run(0, RUN_FIELD.lastTimestamp), u64(ALL_ONES >> 1n), /timestamps from 4 to NaN/],
    ['about dead bytes', run(0, RUN_FIELD.deadRecordBytes), u64(1n << 40n), /more dead bytes/],
    ['about relative offsets', run(0, RUN_FIELD.flags), u32(1), /relative offsets from 100/],
    ['about the reserved field of a run', run(0, RUN_FIELD.reserved), u32(1), /1 in its reserved field/],
    ['about the reserved fields of the footer', FOOTER_FIELD.lastReserved + 7, u8(1), /zero in a reserved field/],
    ['about unknown flags', run(0, RUN_FIELD.flags), u32(2), /unknown flags 2/],
    ['about where a run begins', entry(0, INDEX_FIELD.position), u64(72n), /first chunk that lies elsewhere/],
    ['about the order of chunks', entry(1, INDEX_FIELD.position), u64(64n), /chunk 0 from 64 to 64/],
    ['about chunks in other runs', entry(2, INDEX_FIELD.position), u64(1n << 40n), /chunk 2 from 1099511627776/],
    ['about chunks between the alignment', entry(1, INDEX_FIELD.position), u64(163n), /chunk 0 from 64 to 163/],
    ['about positions beyond 2^53', entry(1, INDEX_FIELD.position), u64(ALL_ONES), /chunk 0 from 64 to NaN/],
    ['about a first offset', entry(0, INDEX_FIELD.firstOffset), u64(101n), /first chunk with another offset/],
    ['about offsets of chunks that go back', entry(2, INDEX_FIELD.firstOffset), u64(99n), /chunk 2 with offset 99/],
    ['about offsets behind the run', entry(2, INDEX_FIELD.firstOffset), u64(104n), /chunk 2 with offset 104/],
    ['about timestamps that go back', entry(2, INDEX_FIELD.latestTimestamp), u64(4n), /latest timestamp of 4/],
  ];
  for (const [name, field, write, expected] of lies) {
    it(name, async () => assert.match(await refusal(field, write), expected));
  }
});

describe('a chunk header that lies', () => {
  before(loadChecksum);

  /** One LZ4 chunk of stream 1, offsets 7 and 8, with a trailer of 4 bytes. */
  async function oneChunk(): Promise<Buffer> {
    const { content } = await writeSegment(async (writer) => {
      writer.beginRun(1, 7);
      const values = [text('a'.repeat(500)), text('b'.repeat(500))];
      await writer.addChunk(recordsChunk(1, 7, values, { trailer: text('tail') }));
      writer.endRun();
    });
    const { footer } = await SegmentReader.open(new MemorySource(content), EXPECTED);
    const { position, bytes } = footer.chunk(0);
    return content.subarray(position, position + bytes);
  }

  const lies: readonly (readonly [name: string, field: number, write: Write, expected: RegExp])[] = [
    ['about its magic', CHUNK_FIELD.magic, u32(0), /magic of a chunk, 4b43524d, found 0/],
    ['about version 0', CHUNK_FIELD.version, (view, at) => view.setUint16(at, 0, true), /chunk version 0/],
    ['about its type', CHUNK_FIELD.type, u8(9), /unknown chunk type 9/],
    ['about being tracking', CHUNK_FIELD.type, u8(2), /a trailer in a tracking chunk|offsets or a trailer/],
    ['about its codec', CHUNK_FIELD.codec, u8(77), /unknown codec 77/],
    ['about being uncompressed', CHUNK_FIELD.codec, u8(0), /raw ones with codec 0/],
    ['about its flags', CHUNK_FIELD.flags, u32(6), /unknown flags 6/],
    ['about offsets beyond 2^53', CHUNK_FIELD.firstOffset, u64(ALL_ONES), /offsets above/],
    ['about the last offset', CHUNK_FIELD.firstOffset, u64((1n << 53n) - 1n), /offsets above/],
    ['about its frame base', CHUNK_FIELD.frameBase, u64(1n << 62n), /frame base/],
    ['about four billion records', CHUNK_FIELD.recordCount, u32(0xffff_ffff), /4294967295 records over 2 offsets/],
    ['about fewer offsets than records', CHUNK_FIELD.offsetSpan, u32(1), /2 records over 1 offsets/],
    ['about timestamps that go back', CHUNK_FIELD.firstTimestamp, u64(5n), /timestamps from 5 to 0/],
    ['about timestamps beyond 2^53', CHUNK_FIELD.lastTimestamp, u64(1n << 62n), /timestamps from 0 to NaN/],
    ['about user bytes', CHUNK_FIELD.userBytes, u32(5000), /5000 user bytes in a body of/],
    ['about its reserved field', CHUNK_FIELD.reserved, u32(1), /1 in its reserved field/],
    ['about 4 GiB to decompress', CHUNK_FIELD.rawBytes, u32(0xffff_fff8), /4294967288 bytes, above the bound/],
    ['about a body that is not whole frames', CHUNK_FIELD.rawBytes, u32(1101), /not whole frames/],
    ['about stored bytes beyond the file', CHUNK_FIELD.storedBytes, u32(1000), /a chunk of \d+ bytes where \d+ are/],
    ['about more stored than raw bytes', CHUNK_FIELD.storedBytes, u32(0xffff_ffff), /stored bytes for \d+ raw/],
    ['about a trailer of 4 GiB', CHUNK_FIELD.trailerBytes, u32(0xffff_ffff), /a trailer of 4294967295 bytes/],
    ['about a trailer beyond the file', CHUNK_FIELD.trailerBytes, u32(4096), /a chunk of \d+ bytes where/],
    ['about bytes it can expand to', CHUNK_FIELD.rawBytes, u32(CHUNK_RAW_BYTES_MAX), /LZ4 cannot expand that far/],
    ['about its raw length', CHUNK_FIELD.rawBytes, u32(1200), /the LZ4 block is malformed/],
  ];
  for (const [name, field, write, expected] of lies) {
    it(name, async () => {
      const chunk = await oneChunk();
      write(viewOf(chunk), field);
      repairChunk(chunk, 0, chunk.length);
      const decode = (): unknown => decodeChunk(chunk, 0, { objectKey: FACTS.objectKey, position: 64 });
      assert.throws(decode, { code: 'ERR_MILLRACE_SEGMENT_CORRUPT', message: expected });
    });
  }

  it('about more records than its body can hold', async () => {
    const chunk = await oneChunk();
    viewOf(chunk).setUint32(CHUNK_FIELD.recordCount, 1_000_000, true);
    viewOf(chunk).setUint32(CHUNK_FIELD.offsetSpan, 1_000_000, true);
    repairChunk(chunk, 0, chunk.length);
    assert.throws(
      () => decodeChunk(chunk, 0, { objectKey: FACTS.objectKey, position: 0 }),
      /1000000 records in \d+ bytes/,
    );
  });

  it('at every length it may be cut to', async () => {
    const chunk = await oneChunk();
    for (let length = 0; length < chunk.length; length += 1) {
      const cut = (): unknown => decodeChunk(chunk.subarray(0, length), 0, { objectKey: FACTS.objectKey, position: 0 });
      assert.throws(cut, { code: 'ERR_MILLRACE_SEGMENT_CORRUPT' });
    }
  });

  it('and says nothing wrong when it does not', async () => {
    const chunk = await oneChunk();
    const { header, body, trailer } = decodeChunk(chunk, 0, { objectKey: FACTS.objectKey, position: 64 });
    assert.equal(body.length, header.rawBytes);
    assert.equal(Buffer.from(trailer).toString(), 'tail');
  });
});

describe('a byte range that lies', () => {
  before(loadChecksum);

  async function drain(range: { position: number; length: number; streamId?: number }): Promise<number> {
    let chunks = 0;
    const content = await smallSegment();
    for await (const chunk of streamChunks(new MemorySource(content), { objectKey: FACTS.objectKey, ...range })) {
      chunks += chunk.bytes.length > CHUNK_HEADER_BYTES ? 1 : 0;
    }
    return chunks;
  }

  it('is held against the object, the chunks and the stream', async () => {
    const { footer } = await SegmentReader.open(new MemorySource(await smallSegment()), EXPECTED);
    const { byteOffset: position, byteLength: length } = footer.run(0);
    assert.equal(await drain({ position, length, streamId: 3 }), 3);
    assert.equal(await drain({ position, length: 0 }), 0);
    const corrupt = { code: 'ERR_MILLRACE_SEGMENT_CORRUPT' };
    for (const range of [
      { position: -8, length },
      { position, length: -8 },
      { position, length: 2 ** 40 },
      { position, length: NaN },
      { position: NaN, length },
      { position: 2 ** 53, length },
      { position: position + 8, length: length - 8 },
      { position, length: length - 8 },
      { position, length: length + 8 },
      { position: footer.runsEnd, length: 96 },
      { position, length, streamId: 4 },
      { position, length: footer.runsEnd - position, streamId: 3 },
    ])
      await assert.rejects(drain(range), corrupt, JSON.stringify(range));
  });
});
