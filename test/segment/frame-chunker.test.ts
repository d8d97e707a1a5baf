import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { AssertionError } from '../../src/base/assert.ts';
import { viewOf } from '../../src/base/bytes.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { CHUNK_OFFSETS_MAX, CHUNK_RAW_BYTES_TARGET } from '../../src/limits/limits.ts';
import { readFrameHeader } from '../../src/record/frame-reader.ts';
import type { ChunkHeader } from '../../src/segment/chunk-format.ts';
import { chunkTracking } from '../../src/segment/chunk-reader.ts';
import { FrameChunker } from '../../src/segment/frame-chunker.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import type { SegmentWriter } from '../../src/segment/writer.ts';
import { EXPECTED, frame, MemorySource, recordsChunk, text, writeSegment } from './fixture.ts';

const STREAM = 1;

interface WrittenChunk extends ChunkHeader {
  readonly trailer: string;
}

/** Writes a run and returns the headers of the chunks that a reader finds in it, each with its trailer. */
async function headersOf(
  firstOffset: number,
  fill: (chunker: FrameChunker) => Promise<unknown>,
): Promise<WrittenChunk[]> {
  const { content } = await writeSegment(async (writer: SegmentWriter) => {
    writer.beginRun(STREAM, firstOffset);
    const chunker = new FrameChunker(writer);
    chunker.begin(firstOffset, 'lz4');
    await fill(chunker);
    writer.endRun();
  });
  const reader = await SegmentReader.open(new MemorySource(content), EXPECTED);
  const chunks: WrittenChunk[] = [];
  for (let index = 0; index < reader.footer.chunks; index += 1) {
    const chunk = await reader.chunk(index);
    chunks.push({ ...chunk.header, trailer: Buffer.from(chunkTracking(chunk)).toString() });
  }
  return chunks;
}

/** The chunks of a run, each as `first+span records epoch trailer`. */
async function chunksOf(firstOffset: number, fill: (chunker: FrameChunker) => Promise<unknown>): Promise<string[]> {
  const chunks = await headersOf(firstOffset, fill);
  return chunks.map((chunk) =>
    `${chunk.firstOffset}+${chunk.offsetSpan} ${chunk.recordCount} ${chunk.epoch} ${chunk.trailer}`.trim(),
  );
}

async function add(chunker: FrameChunker, offset: number, value: Uint8Array = text('x')): Promise<void> {
  const bytes = frame(STREAM, offset, [value]);
  const header = readFrameHeader(viewOf(bytes), 0);
  if (!chunker.fits(header)) await chunker.writeBefore(header);
  chunker.add(bytes, viewOf(bytes), 0, header);
}

describe('the frame chunker', () => {
  before(loadChecksum);

  it('covers as many offsets as one chunk can count in one', async () => {
    const chunks = await chunksOf(5, async (chunker) => {
      chunker.cover(5 + CHUNK_OFFSETS_MAX);
      assert.equal(await chunker.write(), 1);
      assert.equal(chunker.pending, false);
    });
    assert.deepEqual(chunks, [`5+${CHUNK_OFFSETS_MAX} 0 0`]);
  });

  it('goes on in further chunks beyond that, with the trailer on the last and the epoch on all', async () => {
    const chunks = await chunksOf(5, async (chunker) => {
      chunker.cover(5 + 2 * CHUNK_OFFSETS_MAX + 7);
      assert.equal(await chunker.write(text('t'), 3), 3);
      assert.deepEqual([chunker.pending, chunker.nextOffset], [false, 5 + 2 * CHUNK_OFFSETS_MAX + 7]);
    });
    assert.deepEqual(chunks, [
      `5+${CHUNK_OFFSETS_MAX} 0 3`,
      `${5 + CHUNK_OFFSETS_MAX}+${CHUNK_OFFSETS_MAX} 0 3`,
      `${5 + 2 * CHUNK_OFFSETS_MAX}+7 0 3 t`,
    ]);
  });

  it('keeps frames far apart in chunks of their own, and near ones together', async () => {
    const far = 2 ** 33;
    const chunks = await chunksOf(0, async (chunker) => {
      await add(chunker, 1);
      await add(chunker, CHUNK_OFFSETS_MAX - 1);
      await add(chunker, CHUNK_OFFSETS_MAX);
      await add(chunker, far);
      await chunker.write();
    });
    const second = CHUNK_OFFSETS_MAX;
    assert.deepEqual(chunks, [
      `0+${second} 2 0`,
      `${second}+${CHUNK_OFFSETS_MAX} 1 0`,
      `${2 * second}+${far - 2 * second} 0 0`,
      `${far}+1 1 0`,
    ]);
  });

  it('holds no more than its target in a chunk, or one larger frame alone, also behind a larger one', async () => {
    const large = 4 * CHUNK_RAW_BYTES_TARGET;
    const sizes = [100, large, ...Array.from({ length: 30 }, () => CHUNK_RAW_BYTES_TARGET / 5), large, 100];
    const chunks = await headersOf(0, async (chunker) => {
      for (const [offset, size] of sizes.entries()) await add(chunker, offset, text('x'.repeat(size)));
      await chunker.write();
    });
    const bytes = chunks.map(({ rawBytes }) => rawBytes);
    const above = bytes.filter((each) => each > CHUNK_RAW_BYTES_TARGET);
    assert.equal(above.length, 2, String(bytes));
    for (const each of above) assert.ok(each < large + 100);
    // Four frames of a fifth, with their headers, fit.
    assert.equal(bytes.length, 2 + 2 + Math.ceil(30 / 4));
  });

  it('is not offered a chunk of more offsets by the writer beneath it', async () => {
    const tooMany = { offsetSpan: CHUNK_OFFSETS_MAX + 1 };
    const writing = writeSegment(async (writer) => {
      writer.beginRun(STREAM, 0);
      await writer.addChunk(recordsChunk(STREAM, 0, [text('x')], tooMany));
    });
    await assert.rejects(writing, AssertionError);
  });
});
