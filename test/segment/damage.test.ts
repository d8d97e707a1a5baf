/** Nothing that happens to a segment's bytes may pass unnoticed, and no claim of theirs may be believed. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { PAGE_BYTES, viewOf, writeUint64 } from '../../src/base/bytes.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { isMillraceError, type MillraceError } from '../../src/errors/millrace-error.ts';
import { chunkBody } from '../../src/segment/chunk-reader.ts';
import { streamChunks } from '../../src/segment/chunk-stream.ts';
import { type ExpectedSegment, FOOTER_FIELD, HEADER_FIELD, TAIL_BYTES, TAIL_FIELD } from '../../src/segment/format.ts';
import { parseSegmentHeader } from '../../src/segment/header.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import { verifySegment } from '../../src/segment/verify.ts';
import type { SegmentWriter } from '../../src/segment/writer.ts';
import {
  EXPECTED,
  FACTS,
  MemorySource,
  recordsChunk,
  repairFooter,
  smallSegment,
  text,
  writeSegment,
} from './fixture.ts';

/** All that is wrong with a segment; damage that stops the opening is one problem. */
async function problemsOf(content: Uint8Array, expected = EXPECTED): Promise<readonly MillraceError[]> {
  const { problems } = await verifySegment(new MemorySource(content), expected);
  for (const problem of problems) assert.equal(problem.kind, 'corrupt');
  return problems;
}

async function openError(content: Uint8Array, expected: ExpectedSegment = EXPECTED): Promise<MillraceError> {
  try {
    await SegmentReader.open(new MemorySource(content), expected);
  } catch (error) {
    assert.ok(isMillraceError(error), String(error));
    return error;
  }
  return assert.fail('the segment opened');
}

describe('damage to a segment', () => {
  before(loadChecksum);

  it('shows in a scan when an intact chunk was written for another object', async () => {
    const facts = { ...FACTS, objectKey: `${FACTS.objectKey}-of-another` };
    const contents = await Promise.all(
      [FACTS, facts].map(async (own) => {
        const fill = async (writer: SegmentWriter): Promise<void> => {
          writer.beginRun(1, 0, { relative: true });
          await writer.addChunk(recordsChunk(1, 0, [text(own === FACTS ? 'mine' : 'hers')], { compression: 'none' }));
          writer.endRun();
        };
        return (await writeSegment(fill, own)).content;
      }),
    );
    const [mine, hers] = contents;
    assert.ok(mine !== undefined && hers !== undefined);
    const { footer } = await SegmentReader.open(new MemorySource(mine), EXPECTED);
    const { byteOffset: position, byteLength: length, streamId, firstOffset, nextOffset } = footer.run(0);
    const range = { position, length, streamId, firstOffset, nextOffset };
    const values = async (content: Uint8Array, objectKey: string): Promise<number> => {
      let chunks = 0;
      for await (const chunk of streamChunks(new MemorySource(content), { ...range, objectKey })) {
        chunks += chunk.header.recordCount;
      }
      return chunks;
    };
    assert.deepEqual([await values(mine, FACTS.objectKey), await values(hers, facts.objectKey)], [1, 1]);
    mine.set(hers.subarray(position, position + length), position);
    await assert.rejects(values(mine, FACTS.objectKey), { code: 'ERR_MILLRACE_SEGMENT_CORRUPT' });
  });

  it('is noticed wherever a byte changes, padding included', async () => {
    const content = await smallSegment();
    assert.deepEqual(await problemsOf(content), []);
    for (let at = 0; at < content.length; at += 1) {
      for (const mask of [0x01, 0x80, 0xff]) {
        content.writeUInt8(content.readUInt8(at) ^ mask, at);
        assert.ok((await problemsOf(content)).length > 0, `byte ${at} changed by ${mask}`);
        content.writeUInt8(content.readUInt8(at) ^ mask, at);
      }
    }
  });

  it('is noticed wherever the segment is cut, and when something follows it', async () => {
    const content = await smallSegment();
    for (let length = 0; length < content.length; length += 1) {
      const error = await openError(content.subarray(0, length));
      assert.equal(error.code, 'ERR_MILLRACE_SEGMENT_CORRUPT', `cut to ${length}`);
    }
    for (const added of [1, 32, PAGE_BYTES]) await openError(Buffer.concat([content, Buffer.alloc(added)]));
    await openError(Buffer.concat([content, content]));
  });

  it('is noticed where a larger segment is cut at a page boundary', async () => {
    const { content } = await writeSegment(async (writer) => {
      for (let stream = 1; stream < 200; stream += 1) {
        writer.beginRun(stream, 0);
        await writer.addChunk(recordsChunk(stream, 0, [new Uint8Array(900)], { compression: 'none' }));
        writer.endRun();
      }
    });
    for (let length = 0; length < content.length; length += PAGE_BYTES) await openError(content.subarray(0, length));
  });

  it('is noticed in a part of the footer that nothing else depends on', async () => {
    const content = await smallSegment();
    const { footer } = await SegmentReader.open(new MemorySource(content), EXPECTED);
    const at = footer.position + FOOTER_FIELD.createdAt;
    content.writeUInt8(content.readUInt8(at) ^ 1, at);
    assert.match((await openError(content)).message, /expected footer checksum/);
  });

  it('names the object, the byte and the remedy', async () => {
    const content = await smallSegment();
    content.writeUInt8(0xff, 260);
    const [problem] = await problemsOf(content);
    assert.ok(problem !== undefined);
    assert.match(problem.message, new RegExp(`segment ${FACTS.objectKey} is damaged at byte \\d+: expected checksum`));
    assert.match(problem.message, /millrace verify/);
    assert.equal(problem.details.objectKey, FACTS.objectKey);
    assert.ok(Number(problem.details.position) < 260);
  });

  it('in one chunk leaves the others readable', async () => {
    const content = await smallSegment();
    const { footer } = await SegmentReader.open(new MemorySource(content), EXPECTED);
    for (let index = 0; index < footer.chunks; index += 1) {
      const damaged = Buffer.from(content);
      const { position } = footer.chunk(index);
      damaged.writeUInt8(damaged.readUInt8(position + 30) ^ 1, position + 30);
      const report = await verifySegment(new MemorySource(damaged), EXPECTED);
      assert.equal(report.chunks, footer.chunks - 1);
      assert.deepEqual(
        report.problems.map(({ details }) => details.position),
        [position],
      );
    }
  });

  it('shows when a chunk is valid but of another time', async () => {
    const build = (value: string): Promise<{ content: Buffer }> =>
      writeSegment(async (writer) => {
        writer.beginRun(1, 0);
        await writer.addChunk(recordsChunk(1, 0, [text(value)], { compression: 'none' }));
        writer.endRun();
      });
    const stale = (await build('old')).content;
    const { content } = await build('new');
    const { footer } = await SegmentReader.open(new MemorySource(content), EXPECTED);
    const { position, bytes } = footer.chunk(0);
    stale.copy(content, position, position, position + bytes);
    const [problem] = await problemsOf(content);
    assert.match(problem?.message ?? '', /expected chunk 0 of \d+ bytes with checksum/);
  });

  it('shows when a frame contradicts its chunk', async () => {
    const lies = [
      { streamId: 2 },
      { firstOffset: 1 },
      { values: [text('x'), text('y')] },
      { values: [text('longer')] },
    ];
    for (const lie of lies) {
      const told = { streamId: 1, firstOffset: 0, values: [text('x')], ...lie };
      const { content } = await writeSegment(async (writer) => {
        writer.beginRun(1, 0);
        const { body } = recordsChunk(told.streamId, told.firstOffset, told.values);
        await writer.addChunk(recordsChunk(1, 0, [text('x')], { body }));
        writer.endRun();
      });
      assert.equal((await problemsOf(content)).length, 1, JSON.stringify(lie));
    }
  });
});

describe('the identity of a segment', () => {
  before(loadChecksum);

  it('is checked: another store', async () => {
    const other = { ...EXPECTED, storeId: new Uint8Array(16) };
    const error = await openError(await smallSegment(), other);
    assert.equal(error.code, 'ERR_MILLRACE_FOREIGN_FILE');
    assert.equal(error.details.found, Buffer.from(FACTS.storeId).toString('hex'));
    assert.equal((await problemsOf(await smallSegment(), other))[0]?.code, 'ERR_MILLRACE_FOREIGN_FILE');
  });

  it('is checked: another object under this key', async () => {
    const error = await openError(await smallSegment(), { ...EXPECTED, objectKey: 'segments/00/0000000000000002' });
    assert.equal(error.code, 'ERR_MILLRACE_SEGMENT_CORRUPT');
    assert.match(error.message, /lies under another's key/);
  });

  it('is left aside for a tool that knows only a path', async () => {
    const source = new MemorySource(await smallSegment());
    const reader = await SegmentReader.open(source, { storeId: 'any', objectKey: 'a file' });
    assert.deepEqual(reader.footer.storeId, FACTS.storeId);
    assert.equal(reader.footer.createdAt, FACTS.createdAt);
  });

  it('includes the version: a newer one is not damage', async () => {
    const inTail = await smallSegment();
    inTail.writeUInt16LE(2, inTail.length - TAIL_BYTES + TAIL_FIELD.version);
    assert.equal((await openError(inTail)).code, 'ERR_MILLRACE_FORMAT_TOO_NEW');

    const inFooter = await smallSegment();
    const { footer } = await SegmentReader.open(new MemorySource(inFooter), EXPECTED);
    inFooter.writeUInt16LE(2, footer.position + FOOTER_FIELD.version);
    repairFooter(inFooter, footer.position);
    assert.equal((await openError(inFooter)).code, 'ERR_MILLRACE_FORMAT_TOO_NEW');

    const inHeader = await smallSegment();
    inHeader.writeUInt16LE(2, HEADER_FIELD.version);
    assert.throws(() => parseSegmentHeader(inHeader, EXPECTED), { code: 'ERR_MILLRACE_FORMAT_TOO_NEW' });

    const inChunk = await smallSegment();
    inChunk.writeUInt16LE(2, footer.chunk(1).position + 12);
    const reader = await SegmentReader.open(new MemorySource(inChunk), EXPECTED);
    await assert.rejects(reader.chunk(1), { code: 'ERR_MILLRACE_FORMAT_TOO_NEW' });
    assert.ok(chunkBody(await reader.chunk(2)).length > 0);
  });
});

describe('a source that breaks its contract', () => {
  before(loadChecksum);

  it('is noticed when it answers too little', async () => {
    const content = await smallSegment();
    const read = async (from: number, length: number): Promise<Buffer> => content.subarray(from, from + length - 1);
    const short = { size: content.length, read };
    await assert.rejects(SegmentReader.open(short, EXPECTED), { code: 'ERR_MILLRACE_SEGMENT_CORRUPT' });
  });

  it('passes its own errors on', async () => {
    const failing = { size: PAGE_BYTES, read: async () => Promise.reject(new Error('no network')) };
    await assert.rejects(SegmentReader.open(failing, EXPECTED), /no network/);
    await assert.rejects(verifySegment(failing, EXPECTED), /no network/);
  });

  it('is held to sizes that a segment can have', async () => {
    for (const size of [0, 1, PAGE_BYTES - 1, PAGE_BYTES + 8, 2 ** 40, NaN, -PAGE_BYTES]) {
      const source = { size, read: async () => assert.fail('nothing is read') };
      await assert.rejects(SegmentReader.open(source, EXPECTED), /in whole pages/, `size ${size}`);
    }
  });

  it('reports a claimed footer position outside the file without reading there', async () => {
    for (const claim of [0, 63, PAGE_BYTES - TAIL_BYTES, PAGE_BYTES, 2 ** 40, 2 ** 53]) {
      const content = await smallSegment();
      writeUint64(viewOf(content), content.length - TAIL_BYTES + TAIL_FIELD.footerPosition, claim);
      assert.match((await openError(content)).message, /expected a footer that ends at/);
    }
  });
});
