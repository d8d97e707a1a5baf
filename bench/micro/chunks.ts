/** Segment chunks: what the flush writes and a reader takes apart. */
import { CODEC, compress, decompress } from '../../src/codec/compression.ts';
import { CHUNK_RAW_BYTES_TARGET } from '../../src/limits/limits.ts';
import { CHUNK_TYPE } from '../../src/segment/chunk-format.ts';
import { decodeChunk } from '../../src/segment/chunk-reader.ts';
import type { SegmentSink } from '../../src/segment/sink.ts';
import { type ChunkInput, SegmentWriter } from '../../src/segment/writer.ts';
import type { Workload } from '../workload.ts';
import { sampleBytes } from './codecs.ts';
import { micro } from './micro.ts';

const RECORDS = 256;
const STREAM_ID = 1;
/** Chunks of an iteration: a segment is short, so that its index does not grow while the benchmark runs. */
const CHUNKS = 4;

export const chunkWrite: Workload = micro({
  name: 'chunk-write',
  what: 'writes a segment of 4 chunks of 64 KiB, compressed and with checksums, to a sink that drops it',
  floor: 'compresses the same bytes',
  amount: { bytes: CHUNKS * CHUNK_RAW_BYTES_TARGET },
  prepare: () => {
    const body = sampleBytes(CHUNK_RAW_BYTES_TARGET);
    return {
      millrace: async () => {
        await writeSegment(new MemorySink(false), body);
      },
      floor: () => {
        for (let chunk = 0; chunk < CHUNKS; chunk += 1) compress(CODEC.lz4, body);
      },
    };
  },
});

export const chunkRead: Workload = micro({
  name: 'chunk-read',
  what: 'checks and decompresses a chunk of 64 KiB',
  floor: 'decompresses the same bytes',
  amount: { bytes: CHUNK_RAW_BYTES_TARGET },
  prepare: async () => {
    const body = sampleBytes(CHUNK_RAW_BYTES_TARGET);
    const sink = new MemorySink(true);
    const position = await writeSegment(sink, body);
    const segment = sink.bytes;
    const compressed = compress(CODEC.lz4, body).slice();
    return {
      millrace: () => decodeChunk(segment, position, { objectKey: 'a segment', position }),
      floor: () => decompress(CODEC.lz4, compressed, body.length),
    };
  },
});

/** Returns where the first chunk lies. */
async function writeSegment(sink: SegmentSink, body: Uint8Array): Promise<number> {
  const writer = new SegmentWriter(sink, { storeId: new Uint8Array(16), objectKey: 'a segment', createdAt: 1 });
  writer.beginRun(STREAM_ID, 0);
  for (let chunk = 0; chunk < CHUNKS; chunk += 1) await writer.addChunk(chunkOf(body, chunk * RECORDS));
  const { byteOffset } = writer.endRun();
  await writer.finish();
  return byteOffset;
}

function chunkOf(body: Uint8Array, firstOffset: number): ChunkInput {
  return {
    type: CHUNK_TYPE.records,
    compression: 'lz4',
    firstOffset,
    offsetSpan: RECORDS,
    recordCount: RECORDS,
    epoch: 0,
    firstTimestamp: 1,
    lastTimestamp: 1,
    userBytes: body.length,
    body,
  };
}

class MemorySink implements SegmentSink {
  readonly #keep: boolean;
  readonly #pieces: Buffer[] = [];
  #length = 0;

  constructor(keep: boolean) {
    this.#keep = keep;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#length += bytes.length;
    if (this.#keep) this.#pieces.push(Buffer.from(bytes));
  }

  async commit(): Promise<number> {
    return this.#length;
  }

  async abort(): Promise<void> {
    this.#pieces.length = 0;
  }
}
