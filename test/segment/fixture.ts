/** Segments in memory for the tests of this folder: a sink that checks how it is written to, and sources over bytes. */
import assert from 'node:assert/strict';
import { PAGE_BYTES, viewOf, writeInt64, writeUint64 } from '../../src/base/bytes.ts';
import { xxh64, xxh64Parts } from '../../src/codec/checksum.ts';
import { FRAME_FIELD, FRAME_HEADER_BYTES, FRAME_KIND, recordBytes } from '../../src/record/frame-format.ts';
import { CHUNK_CHECKED_FROM, CHUNK_FIELD, CHUNK_TYPE } from '../../src/segment/chunk-format.ts';
import {
  type ExpectedSegment,
  objectKeyHash,
  type SegmentFacts,
  TAIL_BYTES,
  TAIL_CHECKED_TO,
  TAIL_FIELD,
} from '../../src/segment/format.ts';
import type { SegmentSink } from '../../src/segment/sink.ts';
import type { SegmentSource } from '../../src/segment/source.ts';
import { type ChunkInput, SegmentWriter, type WrittenSegment } from '../../src/segment/writer.ts';

export const FACTS: SegmentFacts = {
  storeId: Uint8Array.from({ length: 16 }, (_, index) => 0xa0 + index),
  objectKey: 'segments/00/0000000000000001',
  createdAt: 1_700_000_000_000,
};

/** Keeps what it is given, and holds the writer to what direct I/O asks for. */
export class MemorySink implements SegmentSink {
  readonly #pieces: Buffer[] = [];
  /** Bytes of each write. */
  readonly writes: number[] = [];
  state: 'open' | 'committed' | 'aborted' = 'open';
  /** Write number `failAt`, from 0, rejects. */
  failAt: number | undefined;
  /** What each write waits for before it takes its bytes. */
  delay: () => Promise<void> = async () => undefined;
  #writing = false;

  async write(bytes: Uint8Array): Promise<void> {
    assert.equal(this.state, 'open');
    assert.equal(this.#writing, false, 'one write at a time');
    assert.equal(bytes.byteOffset % PAGE_BYTES, 0, 'memory is page aligned');
    assert.equal(bytes.length % PAGE_BYTES, 0, 'lengths are whole pages');
    this.#writing = true;
    await this.delay();
    this.#writing = false;
    if (this.failAt === this.writes.length) throw new Error('the disk is gone');
    this.writes.push(bytes.length);
    this.#pieces.push(Buffer.from(bytes));
  }

  async commit(): Promise<number> {
    assert.equal(this.state, 'open');
    this.state = 'committed';
    return this.bytes.length;
  }

  async abort(): Promise<void> {
    this.state = 'aborted';
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

/** A source over `bytes` that counts its reads. */
export class MemorySource implements SegmentSource {
  readonly #bytes: Uint8Array;
  readonly reads: { position: number; length: number }[] = [];

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get size(): number {
    return this.#bytes.length;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    assert.ok(position >= 0 && position + length <= this.#bytes.length, 'reads stay inside the object');
    this.reads.push({ position, length });
    return new Uint8Array(this.#bytes.subarray(position, position + length));
  }
}

/** One frame with a record per value, as the ring holds it. */
export function frame(streamId: number, firstOffset: number, values: readonly Uint8Array[], timestamp = 0): Uint8Array {
  const records = values.reduce((sum, value) => sum + recordBytes(0, value.length), 0);
  const bytes = new Uint8Array(Math.ceil((FRAME_HEADER_BYTES + records) / 8) * 8);
  const view = viewOf(bytes);
  view.setUint32(FRAME_FIELD.frameBytes, bytes.length, true);
  view.setUint32(FRAME_FIELD.streamId, streamId, true);
  writeUint64(view, FRAME_FIELD.firstOffset, firstOffset);
  writeInt64(view, FRAME_FIELD.timestamp, timestamp);
  view.setUint32(FRAME_FIELD.recordCount, values.length, true);
  view.setUint32(FRAME_FIELD.offsetSpan, values.length, true);
  view.setUint32(
    FRAME_FIELD.userBytes,
    values.reduce((sum, value) => sum + value.length, 0),
    true,
  );
  view.setUint8(FRAME_FIELD.kind, FRAME_KIND.records);
  let at = FRAME_HEADER_BYTES;
  for (const value of values) {
    view.setUint32(at, value.length, true);
    view.setUint32(at + 4, 0xffff_ffff, true);
    bytes.set(value, at + 12);
    at += recordBytes(0, value.length);
  }
  return bytes;
}

/** A records chunk of one frame. */
export function recordsChunk(
  streamId: number,
  firstOffset: number,
  values: readonly Uint8Array[],
  rest: Partial<ChunkInput> = {},
): ChunkInput {
  const timestamp = rest.firstTimestamp ?? 0;
  return {
    type: CHUNK_TYPE.records,
    compression: 'lz4',
    firstOffset,
    offsetSpan: values.length,
    recordCount: values.length,
    epoch: 0,
    firstTimestamp: timestamp,
    lastTimestamp: timestamp,
    userBytes: values.reduce((sum, value) => sum + value.length, 0),
    body: frame(streamId, firstOffset, values, timestamp),
    ...rest,
  };
}

/** A chunk that holds only tracking. */
export function trackingChunk(firstOffset: number, body: Uint8Array, rest: Partial<ChunkInput> = {}): ChunkInput {
  return {
    type: CHUNK_TYPE.trackingDelta,
    compression: 'lz4',
    firstOffset,
    offsetSpan: 0,
    recordCount: 0,
    epoch: 0,
    firstTimestamp: 0,
    lastTimestamp: 0,
    userBytes: 0,
    body,
    ...rest,
  };
}

export const text = (value: string): Uint8Array => new TextEncoder().encode(value);

/** Writes a segment and returns it with its bytes. */
export async function writeSegment(
  fill: (writer: SegmentWriter) => Promise<void>,
  facts: SegmentFacts = FACTS,
): Promise<WrittenSegment & { readonly content: Buffer; readonly sink: MemorySink }> {
  const sink = new MemorySink();
  const writer = new SegmentWriter(sink, facts);
  await fill(writer);
  const written = await writer.finish();
  assert.equal(sink.state, 'committed');
  return { ...written, content: sink.bytes, sink };
}

/** A small segment with everything in it: two streams, compressed and plain chunks, a trailer, a snapshot, a gap. */
export async function smallSegment(): Promise<Buffer> {
  const segment = await writeSegment(async (writer) => {
    writer.beginRun(3, 100);
    await writer.addChunk(trackingChunk(100, text('snapshot'), { type: CHUNK_TYPE.trackingSnapshot }));
    const late = { firstTimestamp: 5, lastTimestamp: 5 };
    await writer.addChunk(recordsChunk(3, 100, [text('a'.repeat(90)), text('b')], late));
    const early = { firstTimestamp: 4, lastTimestamp: 4 };
    await writer.addChunk(recordsChunk(3, 102, [text('c')], { ...early, trailer: text('t') }));
    writer.endRun({ records: 0, tracking: 8 });
    writer.beginRun(3, 200);
    await writer.addChunk(recordsChunk(3, 200, [text('d')], { compression: 'none' }));
    writer.endRun();
    writer.beginRun(9, 0);
    await writer.addChunk(trackingChunk(0, text('delta')));
    writer.endRun();
  });
  return segment.content;
}

export const EXPECTED: ExpectedSegment = { storeId: FACTS.storeId, objectKey: FACTS.objectKey };

/** Makes the checksum of a chunk right again after a test changed it. */
export function repairChunk(content: Uint8Array, position: number, bytes: number): void {
  const chunk = content.subarray(position, position + bytes);
  const checksum = xxh64(chunk.subarray(CHUNK_CHECKED_FROM)) ^ objectKeyHash(FACTS.objectKey);
  viewOf(chunk).setBigUint64(CHUNK_FIELD.checksum, checksum, true);
}

/** Makes the footer's checksum right again after a test changed it or the tail. */
export function repairFooter(content: Uint8Array, footerPosition: number): void {
  const tail = content.subarray(content.length - TAIL_BYTES);
  const footer = content.subarray(footerPosition, content.length - TAIL_BYTES);
  viewOf(tail).setBigUint64(TAIL_FIELD.checksum, xxh64Parts([footer, tail.subarray(0, TAIL_CHECKED_TO)]), true);
}
