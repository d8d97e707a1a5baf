/** Random segments against a model: what goes in comes out, through the footer and without it. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { CHUNK_HEADER_BYTES, CHUNK_TYPE, chunkBytes } from '../../src/segment/chunk-format.ts';
import { chunkBody, chunkTrailer, type StoredChunk } from '../../src/segment/chunk-reader.ts';
import { streamChunks } from '../../src/segment/chunk-stream.ts';
import {
  FOOTER_HEADER_BYTES,
  INDEX_ENTRY_BYTES,
  RUN_BYTES,
  SEGMENT_HEADER_BYTES,
  TAIL_BYTES,
  TAIL_READ_BYTES,
} from '../../src/segment/format.ts';
import { OUTPUT_BUFFER_BYTES } from '../../src/segment/paged-output.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import { verifySegment } from '../../src/segment/verify.ts';
import type { ChunkInput } from '../../src/segment/writer.ts';
import { EXPECTED, FACTS, MemorySource, recordsChunk, text, trackingChunk, writeSegment } from './fixture.ts';

interface ModelRun {
  readonly streamId: number;
  readonly firstOffset: number;
  readonly chunks: readonly ChunkInput[];
}

/** What fast-check draws for one chunk; offsets follow from its neighbours. */
interface Draft {
  readonly kind: 'records' | 'delta' | 'snapshot' | 'hole';
  readonly sizes: readonly number[];
  readonly hole: number;
  readonly timestamp: number;
  readonly trailer: number;
  readonly compression: 'lz4' | 'none';
}

const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.constantFrom('records', 'records', 'records', 'delta', 'snapshot', 'hole'),
  sizes: fc.array(fc.oneof(fc.nat(200), fc.integer({ min: 4000, max: 4200 })), { minLength: 1, maxLength: 4 }),
  hole: fc.nat(1000),
  timestamp: fc.integer({ min: -(2 ** 40), max: 2 ** 42 }),
  trailer: fc.nat(40),
  compression: fc.constantFrom('lz4', 'none'),
});
const runs = fc.array(
  fc.record({ streamStep: fc.nat(3), gap: fc.nat(1000), drafts: fc.array(draft, { minLength: 1, maxLength: 6 }) }),
  { maxLength: 8 },
);

function chunkOf(streamId: number, firstOffset: number, { kind, ...rest }: Draft): ChunkInput {
  const { compression, timestamp } = rest;
  const content = new Uint8Array(rest.trailer).fill(rest.trailer);
  if (kind === 'delta') return trackingChunk(firstOffset, content, { compression });
  if (kind === 'snapshot') {
    return trackingChunk(firstOffset, content, { type: CHUNK_TYPE.trackingSnapshot, compression });
  }
  const trailer = content;
  const values = rest.sizes.map((size, index) => new Uint8Array(size).fill(index + size));
  const records = recordsChunk(streamId, firstOffset, values, { compression, trailer, firstTimestamp: timestamp });
  if (kind === 'records') return { ...records, offsetSpan: values.length + rest.hole };
  // Offsets without any record, as key compaction leaves them.
  return { ...trackingChunk(firstOffset, new Uint8Array(0)), type: CHUNK_TYPE.records, offsetSpan: rest.hole, trailer };
}

function modelOf(drafts: readonly { streamStep: number; gap: number; drafts: readonly Draft[] }[]): ModelRun[] {
  let streamId = 1;
  let next = 0;
  return drafts.map((run) => {
    if (run.streamStep > 0) next = 0;
    streamId += run.streamStep;
    const firstOffset = next + run.gap;
    next = firstOffset;
    const chunks = run.drafts.map((each) => {
      const chunk = chunkOf(streamId, next, each);
      next += chunk.offsetSpan;
      return chunk;
    });
    return { streamId, firstOffset, chunks };
  });
}

async function write(model: readonly ModelRun[]): Promise<Buffer> {
  const { content } = await writeSegment(async (writer) => {
    for (const run of model) {
      writer.beginRun(run.streamId, run.firstOffset);
      for (const chunk of run.chunks) await writer.addChunk(chunk);
      writer.endRun();
    }
  });
  return content;
}

function assertSame(found: StoredChunk, expected: ChunkInput, streamId: number): void {
  const { header } = found;
  assert.equal(header.streamId, streamId);
  for (const field of [
    'type',
    'firstOffset',
    'offsetSpan',
    'recordCount',
    'epoch',
    'firstTimestamp',
    'lastTimestamp',
    'userBytes',
  ] as const)
    assert.equal(header[field], expected[field], field);
  assert.equal(Buffer.compare(chunkBody(found), expected.body), 0);
  assert.equal(Buffer.compare(chunkTrailer(found), expected.trailer ?? new Uint8Array(0)), 0);
  assert.equal(found.bytes.length, chunkBytes(header.storedBytes, header.trailerBytes));
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Reads everything back in every way and compares it with the model. */
async function check(content: Buffer, model: readonly ModelRun[], readBytes: number): Promise<void> {
  const source = new MemorySource(content);
  const reader = await SegmentReader.open(source, EXPECTED);
  assert.equal(reader.footer.runs, model.length);
  for (const [index, expected] of model.entries()) {
    const run = reader.footer.run(index);
    assert.deepEqual(
      [run.streamId, run.firstOffset, run.chunks],
      [expected.streamId, expected.firstOffset, expected.chunks.length],
    );
    const { byteOffset: position, byteLength: length, streamId } = run;
    const coordinate = { objectKey: FACTS.objectKey, position, length, streamId, readBytes };
    const throughFooter = await collect(reader.chunks(run, { readBytes }));
    const without = await collect(streamChunks(source, coordinate));
    for (const [at, chunk] of expected.chunks.entries()) {
      for (const found of [throughFooter[at], without[at], await reader.chunk(run.firstChunk + at)]) {
        assert.ok(found !== undefined);
        assertSame(found, chunk, expected.streamId);
      }
    }
  }
}

describe('a segment', () => {
  before(loadChecksum);

  it('gives back what was written, whatever the sizes of chunks and reads', async () => {
    await fc.assert(
      fc.asyncProperty(runs, fc.constantFrom(8, 64, 96, 4096, 1 << 20), async (drafts, readBytes) => {
        const model = modelOf(drafts);
        const content = await write(model);
        assert.equal(content.length % PAGE_BYTES, 0);
        await check(content, model, readBytes);
      }),
      { numRuns: 150 },
    );
  });

  it('finds chunks by offset and by timestamp as a search through all of them would', async () => {
    await fc.assert(
      fc.asyncProperty(runs, fc.array(fc.nat(5000)), fc.array(fc.integer()), async (drafts, offsets, timestamps) => {
        const model = modelOf(drafts);
        const { footer } = await SegmentReader.open(new MemorySource(await write(model)), EXPECTED);
        for (const [index, { chunks }] of model.entries()) {
          const run = footer.run(index);
          const covers = (offset: number) => (chunk: ChunkInput) =>
            chunk.firstOffset <= offset && offset < chunk.firstOffset + chunk.offsetSpan;
          const relative = (found: number): number | undefined => (found < 0 ? undefined : run.firstChunk + found);
          const edges = chunks.flatMap(({ firstOffset }) => [firstOffset - 1, firstOffset, firstOffset + 1]);
          for (const offset of [...offsets, ...edges, run.nextOffset]) {
            assert.equal(footer.chunkForOffset(run, offset), relative(chunks.findIndex(covers(offset))));
          }
          const exact = chunks.flatMap(({ lastTimestamp }) => [lastTimestamp, lastTimestamp + 1]);
          for (const timestamp of [...timestamps, ...exact]) {
            const later = (chunk: ChunkInput): boolean => chunk.recordCount > 0 && chunk.lastTimestamp >= timestamp;
            assert.equal(footer.chunkForTimestamp(run, timestamp), relative(chunks.findIndex(later)));
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  it('finds runs by stream, by offset and by position as a search through all of them would', async () => {
    await fc.assert(
      fc.asyncProperty(runs, async (drafts) => {
        const model = modelOf(drafts);
        const { footer } = await SegmentReader.open(new MemorySource(await write(model)), EXPECTED);
        const all = [...footer.listRuns()];
        for (let streamId = 0; streamId < 30; streamId += 1) {
          const own = all.filter((run) => run.streamId === streamId);
          assert.deepEqual([...footer.runsOf(streamId)], own);
          assert.deepEqual(footer.findRun(streamId), own[0]);
          for (const offset of own.flatMap((run) => [run.firstOffset - 1, run.firstOffset, run.nextOffset])) {
            const covering = own.find((run) => run.firstOffset <= offset && offset < run.nextOffset);
            assert.deepEqual(footer.findRun(streamId, offset), covering);
          }
        }
        for (const run of all) {
          assert.deepEqual(footer.findRunAt(run.byteOffset), run);
          assert.equal(footer.findRunAt(run.byteOffset + 8), undefined);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('passes verification', async () => {
    await fc.assert(
      fc.asyncProperty(runs, async (drafts) => {
        const model = modelOf(drafts);
        const report = await verifySegment(new MemorySource(await write(model)), EXPECTED);
        assert.deepEqual(report.problems, []);
        assert.equal(report.runs, model.length);
        assert.equal(
          report.chunks,
          model.reduce((sum, run) => sum + run.chunks.length, 0),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('is the same bytes again when it is written again', async () => {
    await fc.assert(
      fc.asyncProperty(runs, async (drafts) => {
        assert.equal(Buffer.compare(await write(modelOf(drafts)), await write(modelOf(drafts))), 0);
      }),
      { numRuns: 30 },
    );
  });
});

describe('a segment of unusual shape', () => {
  before(loadChecksum);

  it('ends right whatever is left of the last page and of the output buffer', async () => {
    const fixed = SEGMENT_HEADER_BYTES + FOOTER_HEADER_BYTES + RUN_BYTES + 2 * INDEX_ENTRY_BYTES + TAIL_BYTES;
    for (const total of [PAGE_BYTES, 2 * PAGE_BYTES, OUTPUT_BUFFER_BYTES, 2 * OUTPUT_BUFFER_BYTES]) {
      for (const difference of [-16, -8, 0, 8, 16]) {
        // The second chunk makes the first byte of padding, footer or page fall where the case wants it.
        const trackingBytes = total + difference - fixed - 2 * CHUNK_HEADER_BYTES - 8;
        const chunks = [trackingChunk(0, text('12345678')), trackingChunk(0, new Uint8Array(trackingBytes))].map(
          (chunk) => ({ ...chunk, compression: 'none' as const }),
        );
        const content = await write([{ streamId: 1, firstOffset: 0, chunks }]);
        assert.equal(content.length, difference > 0 ? total + PAGE_BYTES : total);
        await check(content, [{ streamId: 1, firstOffset: 0, chunks }], 1 << 20);
      }
    }
  });

  it('may hold ten thousand runs of one chunk, and opens in two reads', async () => {
    const model = Array.from({ length: 10_000 }, (_, index) => {
      const streamId = index * 3 + 1;
      return { streamId, firstOffset: index, chunks: [recordsChunk(streamId, index, [text(`value ${index}`)])] };
    });
    const source = new MemorySource(await write(model));
    const { footer } = await SegmentReader.open(source, EXPECTED);
    assert.equal(footer.runs, 10_000);
    assert.equal(source.reads.length, 2);
    assert.equal(source.reads[0]?.length, TAIL_READ_BYTES);
    assert.equal(footer.findRun(3 * 7000 + 1)?.firstOffset, 7000);
    assert.equal(footer.findRun(3), undefined);
    const report = await verifySegment(source, EXPECTED);
    assert.deepEqual([report.runs, report.records, report.problems], [10_000, 10_000, []]);
  });

  it('may hold a run of very many chunks', async () => {
    const count = 100_000;
    const chunks = Array.from({ length: count }, (_, index) =>
      trackingChunk(index, new Uint8Array(0), {
        type: CHUNK_TYPE.records,
        offsetSpan: 1,
      }),
    );
    const content = await write([{ streamId: 1, firstOffset: 0, chunks }]);
    const { footer } = await SegmentReader.open(new MemorySource(content), EXPECTED);
    const run = footer.run(0);
    for (const offset of [0, 1, 77_777, count - 1]) assert.equal(footer.chunkForOffset(run, offset), offset);
    assert.equal(footer.chunkForOffset(run, count), undefined);
    assert.equal(footer.chunkForTimestamp(run, 0), undefined);
  });

  it('opens in one read when it is large and has an index entry for every 16 KiB', async () => {
    const body = recordsChunk(1, 0, [Buffer.alloc(15_900)], { compression: 'none' });
    const { content } = await writeSegment(async (writer) => {
      writer.beginRun(1, 0);
      for (let index = 0; index < 2_200; index += 1) await writer.addChunk({ ...body, firstOffset: index });
      writer.endRun();
    });
    const source = new MemorySource(content);
    const { footer } = await SegmentReader.open(source, EXPECTED);
    assert.ok(footer.chunks * INDEX_ENTRY_BYTES > TAIL_READ_BYTES, 'the usual read of the tail would not do');
    assert.equal(source.reads.length, 1);
  });

  it('opens in one read when its footer is small', async () => {
    const chunks = [trackingChunk(0, text('x'))];
    const source = new MemorySource(await write([{ streamId: 1, firstOffset: 0, chunks }]));
    await SegmentReader.open(source, EXPECTED);
    assert.equal(source.reads.length, 1);
  });
});
