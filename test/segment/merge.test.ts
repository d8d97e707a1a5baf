/** Chunks that move from one segment to another as they are, and runs whose offsets the coordinator assigns. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { viewOf } from '../../src/base/bytes.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { readFrameHeader } from '../../src/record/frame-reader.ts';
import { CHUNK_CHECKED_FROM, CHUNK_FLAG } from '../../src/segment/chunk-format.ts';
import { chunkBody, type StoredChunk } from '../../src/segment/chunk-reader.ts';
import { streamChunks } from '../../src/segment/chunk-stream.ts';
import { SEGMENT_HEADER_BYTES } from '../../src/segment/format.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import { verifySegment } from '../../src/segment/verify.ts';
import { EXPECTED, FACTS, MemorySource, recordsChunk, text, trackingChunk, writeSegment } from './fixture.ts';

/** A segment with one run of stream 5: one record a chunk, from `firstOffset`. */
async function oneRun(firstOffset: number, values: readonly string[], relative = false): Promise<Buffer> {
  const { content } = await writeSegment(async (writer) => {
    writer.beginRun(5, firstOffset, { relative });
    for (const [index, value] of values.entries()) {
      await writer.addChunk(recordsChunk(5, firstOffset + index, [text(value)], { trailer: text(`t${index}`) }));
    }
    writer.endRun();
  });
  return content;
}

async function chunksOf(content: Buffer, base?: number): Promise<StoredChunk[]> {
  const reader = await SegmentReader.open(new MemorySource(content), EXPECTED);
  const chunks: StoredChunk[] = [];
  for (const run of reader.footer.listRuns()) {
    for await (const chunk of reader.chunks(run, base === undefined ? {} : { base })) chunks.push(chunk);
  }
  return chunks;
}

/** The offset of a chunk's first record, as a reader of frames computes it. */
function firstRecordOffset(chunk: StoredChunk): number {
  return readFrameHeader(viewOf(chunkBody(chunk)), 0).firstOffset + chunk.header.frameBase;
}

describe('chunks passed through', () => {
  before(loadChecksum);

  it('keep every byte of their content', async () => {
    const parts = await Promise.all([oneRun(10, ['a'.repeat(300), 'b']), oneRun(12, ['c', 'd'.repeat(50)])]);
    const inputs = (await Promise.all(parts.map((part) => chunksOf(part)))).flat();
    const merged = await writeSegment(async (writer) => {
      writer.beginRun(5, 10);
      for (const chunk of inputs) await writer.addStoredChunk(chunk);
      writer.endRun();
    });
    const outputs = await chunksOf(merged.content);
    const contents = (chunks: readonly StoredChunk[]): Buffer[] =>
      chunks.map(({ bytes }) => Buffer.from(bytes.subarray(CHUNK_CHECKED_FROM)));
    assert.deepEqual(contents(outputs), contents(inputs));
    assert.deepEqual((await verifySegment(new MemorySource(merged.content), EXPECTED)).problems, []);
    const [run] = merged.runs;
    assert.deepEqual([run?.firstOffset, run?.nextOffset, run?.records, run?.trackingBytes], [10, 14, 4, 8]);
  });

  it('must go on where the run stands, and be whole', async () => {
    const [chunk] = await chunksOf(await oneRun(10, ['a']));
    assert.ok(chunk !== undefined);
    await assert.rejects(
      writeSegment(async (writer) => {
        writer.beginRun(5, 11);
        await writer.addStoredChunk(chunk);
      }),
      /first offset 10 where the run goes on at 11/,
    );
    await assert.rejects(
      writeSegment(async (writer) => {
        writer.beginRun(5, 10);
        await writer.addStoredChunk({ ...chunk, bytes: chunk.bytes.subarray(0, -8) });
      }),
      /passed on whole/,
    );
  });
});

describe('a relative run', () => {
  before(loadChecksum);

  it('is written from 0 and read with the offset that the coordinator assigned', async () => {
    const content = await oneRun(0, ['a', 'b', 'c'], true);
    const { footer } = await SegmentReader.open(new MemorySource(content), EXPECTED);
    const run = footer.run(0);
    assert.deepEqual([run.relative, run.firstOffset, run.nextOffset], [true, 0, 3]);
    assert.equal(footer.chunkForOffset(run, 2), 2);
    const coordinate = { objectKey: FACTS.objectKey, position: run.byteOffset, length: run.byteLength, streamId: 5 };
    const read: StoredChunk[] = [];
    for await (const chunk of streamChunks(new MemorySource(content), { ...coordinate, base: 1000 })) read.push(chunk);
    assert.deepEqual(
      read.map(({ header }) => header.firstOffset),
      [1000, 1001, 1002],
    );
    assert.deepEqual(read.map(firstRecordOffset), [1000, 1001, 1002]);
    assert.deepEqual((await verifySegment(new MemorySource(content), EXPECTED)).problems, []);
  });

  it('becomes absolute when it is merged, though its frames stay as they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(2 ** 45), fc.nat(5), fc.nat(5), async (base, left, right) => {
        const values = (count: number): string[] => Array.from({ length: count + 1 }, (_, index) => `value ${index}`);
        const inputs = [
          { chunks: await chunksOf(await oneRun(0, values(left), true)), base },
          { chunks: await chunksOf(await oneRun(0, values(right), true)), base: base + left + 1 },
        ];
        const merged = await writeSegment(async (writer) => {
          writer.beginRun(5, base);
          for (const input of inputs) {
            for (const chunk of input.chunks) await writer.addStoredChunk(chunk, input.base);
          }
          writer.endRun();
        });
        const outputs = await chunksOf(merged.content);
        const offsets = Array.from({ length: left + right + 2 }, (_, index) => base + index);
        assert.deepEqual(
          outputs.map(({ header }) => header.firstOffset),
          offsets,
        );
        assert.deepEqual(outputs.map(firstRecordOffset), offsets);
        assert.ok(outputs.every(({ header }) => (header.flags & CHUNK_FLAG.relative) === 0));
        assert.deepEqual((await verifySegment(new MemorySource(merged.content), EXPECTED)).problems, []);
      }),
      { numRuns: 20 },
    );
  });

  it('stays relative when it is passed on without a base', async () => {
    const content = await oneRun(0, ['a', 'b'], true);
    const again = await writeSegment(async (writer) => {
      writer.beginRun(5, 0, { relative: true });
      for (const chunk of await chunksOf(content)) await writer.addStoredChunk(chunk);
      writer.endRun();
    });
    assert.equal(Buffer.compare(again.content, content), 0);
  });

  it('takes frames that count from anywhere', async () => {
    const frames = recordsChunk(5, 700, [text('x')]);
    const { content } = await writeSegment(async (writer) => {
      writer.beginRun(5, 0, { relative: true });
      await writer.addChunk({ ...frames, firstOffset: 0, frameBase: -700 });
      writer.endRun();
    });
    const [chunk] = await chunksOf(content, 42);
    assert.ok(chunk !== undefined);
    assert.equal(firstRecordOffset(chunk), 42);
  });
});

describe('the chunk stream', () => {
  before(loadChecksum);

  async function manyChunks(): Promise<Buffer> {
    const { content } = await writeSegment(async (writer) => {
      writer.beginRun(5, 0);
      for (let index = 0; index < 300; index += 1) {
        await writer.addChunk(recordsChunk(5, index, [new Uint8Array(1000 + index * 7)], { compression: 'none' }));
      }
      await writer.addChunk(trackingChunk(300, text('end')));
      writer.endRun();
    });
    return content;
  }

  it('reads every byte of the range once, in order, one read ahead', async () => {
    const source = new MemorySource(await manyChunks());
    const { footer } = await SegmentReader.open(source, EXPECTED);
    const { byteOffset: position, byteLength: length } = footer.run(0);
    source.reads.length = 0;
    let chunks = 0;
    for await (const chunk of streamChunks(source, {
      objectKey: FACTS.objectKey,
      position,
      length,
      readBytes: 65_536,
    })) {
      chunks += 1;
      const consumed = chunk.position + chunk.bytes.length - position;
      assert.ok(source.reads.length <= Math.ceil(consumed / 65_536) + 1, 'one read ahead');
    }
    assert.equal(chunks, 301);
    let next = position;
    for (const read of source.reads) {
      assert.equal(read.position, next);
      next += read.length;
    }
    assert.equal(next, position + length);
  });

  it('starts at any chunk', async () => {
    const reader = await SegmentReader.open(new MemorySource(await manyChunks()), EXPECTED);
    const run = reader.footer.run(0);
    const fromChunk = reader.footer.chunkForOffset(run, 250);
    assert.equal(fromChunk, 250);
    const offsets: number[] = [];
    for await (const { header } of reader.chunks(run, { fromChunk })) offsets.push(header.firstOffset);
    assert.deepEqual(
      offsets,
      Array.from({ length: 51 }, (_, index) => 250 + index),
    );
  });

  it('leaves a failed read behind quietly when its consumer has stopped', async () => {
    const content = await manyChunks();
    const { footer } = await SegmentReader.open(new MemorySource(content), EXPECTED);
    const { byteOffset: position, byteLength: length } = footer.run(0);
    const source = {
      size: content.length,
      read: async (from: number, bytes: number): Promise<Uint8Array> => {
        if (from > SEGMENT_HEADER_BYTES) throw new Error('unplugged');
        return content.subarray(from, from + bytes);
      },
    };
    for await (const chunk of streamChunks(source, { objectKey: FACTS.objectKey, position, length, readBytes: 4096 })) {
      assert.equal(chunk.header.firstOffset, 0);
      break;
    }
    // An unhandled rejection would end the process before this resolves.
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(async () => {
      for await (const chunk of streamChunks(source, { objectKey: FACTS.objectKey, position, length, readBytes: 4096 }))
        assert.ok(chunk);
    }, /unplugged/);
  });
});
