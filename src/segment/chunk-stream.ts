/**
 * Streams the chunks of a byte range. It needs no footer: a coordinate from the coordinator is enough. Memory is two
 * reads and the chunk at hand.
 */
import { assert } from '../base/assert.ts';
import { alignUp } from '../base/bytes.ts';
import { SpareMemory } from '../base/spare-memory.ts';
import { CODEC } from '../codec/compression.ts';
import { CHUNK_ALIGNMENT, CHUNK_HEADER_BYTES, chunkBytes, type ChunkHeader } from './chunk-format.ts';
import { checkedChunkHeader, type StoredChunk, verifiedChunk } from './chunk-reader.ts';
import { segmentCorrupt } from './errors.ts';
import { objectKeyHash } from './format.ts';
import { readRange, type SegmentSource } from './source.ts';

/** Bytes of one read. While its chunks are consumed, the next one is under way. */
const STREAM_READ_BYTES: number = 1024 * 1024;

/** Memory for a run shorter than a read comes in multiples of this: thousands of small stores would fill the heap. */
const SMALL_READ_BYTES: number = 32 * 1024;

const NOTHING = new Uint8Array(0);

/** Which chunks to stream. */
export interface ChunkRange {
  readonly objectKey: string;
  /** Hash of the object key, which the checksums have in them. Default that of `objectKey`. */
  readonly keyHash?: bigint;
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
  /**
   * Where reads get their memory and give it back: chunks are then valid until the next one is asked for. Without it
   * they stay valid. The source must not keep what it returns.
   */
  readonly memory?: SpareMemory | undefined;
  /**
   * Where chunks that span reads are put together: they are then valid until the next one is asked for. Default: memory
   * of this range's own, where `memory` is given, and new memory for each, where it is not.
   */
  readonly joined?: SpareMemory;
  /** With `memory`: a chunk that is stored uncompressed, whose body is a view, stays valid all the same. */
  readonly keepsUncompressed?: boolean;
}

/** Yields the chunks of `range` in order, each verified. */
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
  readonly #keyHash: bigint;
  #position: number;
  #current: Uint8Array = NOTHING;
  #at = 0;
  /** Memory of chunks that have to be put together, and where it comes from. */
  #joined: Uint8Array | undefined;
  readonly #spare: SpareMemory | undefined;
  /** A view of what is current was handed out for good. */
  #currentIsKept = false;

  constructor(source: SegmentSource, range: ChunkRange) {
    this.#range = range;
    this.#reads = new ReadAhead(source, range);
    this.#spare = range.joined ?? (range.memory === undefined ? undefined : new SpareMemory(1));
    this.#position = range.position;
    this.#end = range.position + range.length;
    this.#keyHash = range.keyHash ?? objectKeyHash(range.objectKey);
  }

  /** Whether no chunk is left. */
  get atEnd(): boolean {
    return this.#position === this.#end;
  }

  async next(): Promise<StoredChunk | undefined> {
    if (this.#position === this.#end) {
      this.#recycleCurrent();
      if (this.#joined !== undefined) this.#spare?.recycle(this.#joined);
      return undefined;
    }
    const { objectKey, base = 0 } = this.#range;
    const place = { objectKey, keyHash: this.#keyHash, position: this.#position, base };
    const room = this.#end - this.#position;
    if (this.#at === this.#current.length) await this.#advance();
    if (this.#current.length - this.#at >= Math.min(CHUNK_HEADER_BYTES, room)) {
      const header = checkedChunkHeader(this.#current, this.#at, room, place);
      return this.#keep(verifiedChunk(await this.#take(lengthOf(header)), header, place));
    }
    const head = new Uint8Array(CHUNK_HEADER_BYTES);
    await this.#fill(head, 0);
    const header = checkedChunkHeader(head, 0, room, place);
    const bytes = this.#allocateJoined(lengthOf(header));
    bytes.set(head);
    await this.#fill(bytes, head.length);
    return this.#keep(verifiedChunk(bytes, header, place));
  }

  /** The next `length` bytes in one piece; the range holds as many. */
  async #take(length: number): Promise<Uint8Array> {
    if (this.#current.length - this.#at >= length) {
      this.#position += length;
      this.#at += length;
      return this.#current.subarray(this.#at - length, this.#at);
    }
    const joined = this.#allocateJoined(length);
    await this.#fill(joined, 0);
    return joined;
  }

  /** Fills `target` from `filled` on with what comes next. */
  async #fill(target: Uint8Array, filled: number): Promise<void> {
    this.#position += target.length - filled;
    for (let at = filled; at < target.length;) {
      if (this.#at === this.#current.length) await this.#advance();
      const count = Math.min(target.length - at, this.#current.length - this.#at);
      target.set(this.#current.subarray(this.#at, this.#at + count), at);
      at += count;
      this.#at += count;
    }
  }

  #allocateJoined(length: number): Uint8Array {
    if (this.#spare === undefined) return Buffer.allocUnsafeSlow(length);
    if (this.#joined !== undefined) this.#spare.recycle(this.#joined);
    this.#joined = this.#spare.buffer(length, alignUp(length, SMALL_READ_BYTES));
    return this.#joined;
  }

  /** Notes what must not be used again. */
  #keep(chunk: StoredChunk): StoredChunk {
    if (this.#range.keepsUncompressed !== true || chunk.header.codec !== CODEC.none) return chunk;
    const { buffer } = chunk.bytes;
    if (buffer === this.#current.buffer) this.#currentIsKept = true;
    if (buffer === this.#joined?.buffer) this.#joined = undefined;
    return chunk;
  }

  #recycleCurrent(): void {
    if (!this.#currentIsKept) this.#range.memory?.recycle(this.#current);
    this.#currentIsKept = false;
    this.#current = NOTHING;
    this.#at = 0;
  }

  async #advance(): Promise<void> {
    // Before the next one arrives, so that the one after that is read into its memory.
    this.#recycleCurrent();
    this.#current = await this.#reads.next();
  }
}

function lengthOf({ storedBytes, trailerBytes }: ChunkHeader): number {
  return chunkBytes(storedBytes, trailerBytes);
}

/** Reads a range piece by piece, always one piece ahead of what was asked for. */
class ReadAhead {
  readonly #source: SegmentSource;
  readonly #objectKey: string;
  readonly #readBytes: number;
  readonly #memory: SpareMemory | undefined;
  /** What new memory is good for later, in bytes. */
  readonly #capacity: number;
  readonly #end: number;
  #position: number;
  #pending: Promise<Uint8Array> | undefined;

  constructor(source: SegmentSource, range: ChunkRange) {
    this.#source = source;
    this.#objectKey = range.objectKey;
    this.#readBytes = range.readBytes ?? STREAM_READ_BYTES;
    this.#memory = range.memory;
    assert(this.#readBytes > 0 && this.#readBytes % CHUNK_ALIGNMENT === 0, 'reads keep the alignment of chunks');
    this.#capacity = Math.min(this.#readBytes, alignUp(range.length, SMALL_READ_BYTES));
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
    const into = this.#memory?.buffer(length, this.#capacity);
    const read = readRange(this.#source, this.#objectKey, this.#position, length, into);
    this.#position += length;
    // A consumer that stops early never looks at the last read: its failure must not end the process.
    read.catch(() => undefined);
    return read;
  }
}
