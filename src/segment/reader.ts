/**
 * Opens a segment through its footer: one ranged read for most, a second one where the footer is larger. What is kept
 * in memory is the footer. A reader of one run that knows its coordinate needs none of this: see `chunk-stream.ts`.
 */
import type { SpareMemory } from '../base/spare-memory.ts';
import { KIB } from '../limits/limits.ts';
import { type StoredChunk, readStoredChunk } from './chunk-reader.ts';
import { streamChunks } from './chunk-stream.ts';
import { segmentCorrupt } from './errors.ts';
import { checkSegmentSize, parseFooter, parseTail } from './footer-parser.ts';
import type { SegmentFooter } from './footer.ts';
import { type ExpectedSegment, type FooterRun, TAIL_BYTES, TAIL_READ_BYTES, TAIL_READ_DIVISOR } from './format.ts';
import { readRange, type SegmentSource } from './source.ts';

/** Memory of a chunk that is used again has at least so much, for the next chunk may be a little larger. */
const CHUNK_MEMORY_BYTES_MIN: number = 128 * KIB;

/** Which of a run's chunks to stream. */
export interface RunRange {
  /** Index in the segment of the first chunk. Default: the run's first. */
  readonly fromChunk?: number;
  /** First offset that the coordinator assigned to a relative run. Default 0. */
  readonly base?: number;
  /** Bytes of one read, a multiple of 8. */
  readonly readBytes?: number;
}

export class SegmentReader {
  readonly #source: SegmentSource;
  readonly objectKey: string;
  /** Run table and chunk index, with the lookups. */
  readonly footer: SegmentFooter;

  private constructor(source: SegmentSource, objectKey: string, footer: SegmentFooter) {
    this.#source = source;
    this.objectKey = objectKey;
    this.footer = footer;
  }

  /**
   * Reads and checks the footer. Throws `ERR_MILLRACE_SEGMENT_CORRUPT`, `ERR_MILLRACE_FOREIGN_FILE` or
   * `ERR_MILLRACE_FORMAT_TOO_NEW`, and what the source throws.
   */
  static async open(source: SegmentSource, expected: ExpectedSegment): Promise<SegmentReader> {
    const { objectKey } = expected;
    checkSegmentSize(source.size, objectKey);
    const tailBytes = Math.max(TAIL_READ_BYTES, Math.ceil(source.size / TAIL_READ_DIVISOR));
    const firstRead = Math.min(source.size, tailBytes);
    let end = await readRange(source, objectKey, source.size - firstRead, firstRead);
    const place = parseTail(end, source.size, objectKey);
    const needed = place.bytes + TAIL_BYTES;
    if (needed > end.length) end = await readRange(source, objectKey, place.position, needed);
    // The footer is copied where the read brought much more than it: a cached reader keeps only what it needs.
    const kept = needed < end.length / 2 ? new Uint8Array(end.subarray(end.length - needed)) : end;
    const footer = parseFooter(kept, place, expected);
    if (expected.checksum !== undefined && footer.checksum !== expected.checksum) {
      const found = `a footer with checksum ${footer.checksum.toString(16)}`;
      throw segmentCorrupt(
        objectKey,
        place.position,
        `expected checksum ${expected.checksum.toString(16)}, found ${found}`,
      );
    }
    return new SegmentReader(source, objectKey, footer);
  }

  /**
   * Reads one chunk, by its index in the segment, and holds it against the chunk index. It lies in memory of `memory`
   * where that is given, for the caller to give back.
   */
  async chunk(index: number, base = 0, memory?: SpareMemory): Promise<StoredChunk> {
    const { position, bytes } = this.footer.chunk(index);
    const into = memory?.buffer(bytes, Math.max(bytes, CHUNK_MEMORY_BYTES_MIN));
    const stored = await readRange(this.#source, this.objectKey, position, bytes, into);
    const { keyHash } = this.footer;
    const chunk = readStoredChunk(stored, 0, { objectKey: this.objectKey, keyHash, position, base });
    this.#checkIndexed(chunk, index);
    return chunk;
  }

  /** Streams a run's chunks, each verified and held against the chunk index. */
  async *chunks(run: FooterRun, range: RunRange = {}): AsyncGenerator<StoredChunk> {
    let index = range.fromChunk ?? run.firstChunk;
    const position = this.footer.chunkPosition(index);
    const length = run.byteOffset + run.byteLength - position;
    const { objectKey } = this;
    const { keyHash } = this.footer;
    const chunks = { ...range, objectKey, keyHash, position, length, streamId: run.streamId };
    for await (const chunk of streamChunks(this.#source, chunks)) {
      this.#checkIndexed(chunk, index);
      index += 1;
      yield chunk;
    }
  }

  /** A valid chunk from another time, left by a write that was lost, has another checksum or another length. */
  #checkIndexed(chunk: StoredChunk, index: number): void {
    const { position, bytes, checksum } = this.footer.chunk(index);
    const stored = chunk.contentChecksum ^ this.footer.keyHash;
    if (chunk.position === position && chunk.bytes.length === bytes && stored === checksum) return;
    const found = `${chunk.bytes.length} bytes with checksum ${stored.toString(16)} at ${chunk.position}`;
    const problem = `expected chunk ${index} of ${bytes} bytes with checksum ${checksum.toString(16)}, found ${found}`;
    throw segmentCorrupt(this.objectKey, position, problem);
  }
}
