/**
 * Streams the chunks of a byte range. It needs no footer: a coordinate from the coordinator is enough. Memory is two
 * reads and the chunk at hand.
 */
import { assert } from '../base/assert.ts';
import { CHUNK_ALIGNMENT, CHUNK_HEADER_BYTES, chunkBytes, type ChunkHeader } from './chunk-format.ts';
import { checkedChunkHeader, type StoredChunk, verifiedChunk } from './chunk-reader.ts';
import { segmentCorrupt } from './errors.ts';
import { readRange, type SegmentSource } from './source.ts';

/** Bytes of one read. While its chunks are consumed, the next one is under way. */
export const STREAM_READ_BYTES: number = 1024 * 1024;

/** Which chunks to stream. */
export interface ChunkRange {
  readonly objectKey: string;
  /** Of the first chunk. */
  readonly position: number;
  /** Bytes of all chunks. */
  readonly length: number;
  /** The run's stream. With it every chunk must be of that stream and go on where the last one ended. */
  readonly streamId?: number;
  /** With `streamId`: where the first chunk begins, and the last one ends. Intact chunks of other runs do not pass. */
  readonly firstOffset?: number;
  readonly nextOffset?: number;
  /** First offset that the coordinator assigned to a relative run. Default 0. */
  readonly base?: number;
  /** Bytes of one read, a multiple of 8. */
  readonly readBytes?: number;
}

/** Yields the chunks of `range` in order, each verified. A chunk stays valid after the next one was asked for. */
export async function* streamChunks(source: SegmentSource, range: ChunkRange): AsyncGenerator<StoredChunk> {
  const cursor = new ChunkCursor(source, range);
  let nextOffset = range.firstOffset;
  for (let chunk = await cursor.next(); chunk !== undefined; chunk = await cursor.next()) {
    if (range.streamId !== undefined) {
      const problem = orderProblem(chunk.header, range.streamId, nextOffset);
      if (problem !== undefined) throw segmentCorrupt(range.objectKey, chunk.position, problem);
      nextOffset = chunk.header.firstOffset + chunk.header.offsetSpan;
      // Before it is passed on: a reader must never have seen a record of another run.
      checkEnd(range, chunk, nextOffset, cursor.atEnd);
    }
    yield chunk;
  }
}

function checkEnd(range: ChunkRange, chunk: StoredChunk, nextOffset: number, last: boolean): void {
  if (range.nextOffset === undefined) return;
  if (last ? nextOffset === range.nextOffset : nextOffset <= range.nextOffset) return;
  const what = last ? 'the last chunk' : 'a chunk';
  const problem = `expected ${what} up to offset ${range.nextOffset}, found one up to ${nextOffset}`;
  throw segmentCorrupt(range.objectKey, chunk.position, problem);
}

function orderProblem(header: ChunkHeader, streamId: number, nextOffset: number | undefined): string | undefined {
  if (header.streamId !== streamId) return `expected a chunk of stream ${streamId}, found one of ${header.streamId}`;
  if (nextOffset === undefined || header.firstOffset === nextOffset) return undefined;
  return `expected a chunk from offset ${nextOffset}, found one from ${header.firstOffset}`;
}

/** Cuts chunks out of consecutive reads; only a chunk that spans reads is copied. */
class ChunkCursor {
  readonly #range: ChunkRange;
  readonly #reads: ReadAhead;
  readonly #end: number;
  #position: number;
  #current: Uint8Array = new Uint8Array(0);
  #at = 0;

  constructor(source: SegmentSource, range: ChunkRange) {
    this.#range = range;
    this.#reads = new ReadAhead(source, range);
    this.#position = range.position;
    this.#end = range.position + range.length;
  }

  /** Whether no chunk is left. */
  get atEnd(): boolean {
    return this.#position === this.#end;
  }

  async next(): Promise<StoredChunk | undefined> {
    if (this.#position === this.#end) return undefined;
    const { objectKey, base = 0 } = this.#range;
    const place = { objectKey, position: this.#position, base };
    const room = this.#end - this.#position;
    if (this.#at === this.#current.length) await this.#advance();
    if (this.#current.length - this.#at >= Math.min(CHUNK_HEADER_BYTES, room)) {
      const header = checkedChunkHeader(this.#current, this.#at, room, place);
      return verifiedChunk(await this.#take(chunkBytes(header.storedBytes, header.trailerBytes)), header, place);
    }
    const head = await this.#take(CHUNK_HEADER_BYTES);
    const header = checkedChunkHeader(head, 0, room, place);
    const bytes = new Uint8Array(chunkBytes(header.storedBytes, header.trailerBytes));
    bytes.set(head);
    bytes.set(await this.#take(bytes.length - head.length), head.length);
    return verifiedChunk(bytes, header, place);
  }

  /** The next `length` bytes in one piece; the range holds as many. */
  async #take(length: number): Promise<Uint8Array> {
    this.#position += length;
    if (this.#current.length - this.#at >= length) {
      this.#at += length;
      return this.#current.subarray(this.#at - length, this.#at);
    }
    const joined = Buffer.allocUnsafeSlow(length);
    for (let filled = 0; filled < length;) {
      if (this.#at === this.#current.length) await this.#advance();
      const count = Math.min(length - filled, this.#current.length - this.#at);
      joined.set(this.#current.subarray(this.#at, this.#at + count), filled);
      filled += count;
      this.#at += count;
    }
    return joined;
  }

  async #advance(): Promise<void> {
    this.#current = await this.#reads.next();
    this.#at = 0;
  }
}

/** Reads a range piece by piece, always one piece ahead of what was asked for. */
class ReadAhead {
  readonly #source: SegmentSource;
  readonly #objectKey: string;
  readonly #readBytes: number;
  readonly #end: number;
  #position: number;
  #pending: Promise<Uint8Array> | undefined;

  constructor(source: SegmentSource, range: ChunkRange) {
    this.#source = source;
    this.#objectKey = range.objectKey;
    this.#readBytes = range.readBytes ?? STREAM_READ_BYTES;
    assert(this.#readBytes > 0 && this.#readBytes % CHUNK_ALIGNMENT === 0, 'reads keep the alignment of chunks');
    this.#position = range.position;
    this.#end = range.position + range.length;
    const inside = range.position >= 0 && range.length >= 0 && this.#end <= source.size;
    if (!inside) {
      const problem = `expected chunks up to ${this.#end}, the object ends at ${source.size}`;
      throw segmentCorrupt(range.objectKey, range.position, problem);
    }
  }

  async next(): Promise<Uint8Array> {
    this.#pending ??= this.#start();
    const piece = await this.#pending;
    this.#pending = this.#position < this.#end ? this.#start() : undefined;
    return piece;
  }

  #start(): Promise<Uint8Array> {
    assert(this.#position < this.#end, 'no read beyond the range');
    const length = Math.min(this.#readBytes, this.#end - this.#position);
    const read = readRange(this.#source, this.#objectKey, this.#position, length);
    this.#position += length;
    // A consumer that stops early never looks at the last read: its failure must not end the process.
    read.catch(() => undefined);
    return read;
  }
}
