/**
 * Writes a segment front to back. Memory is two output buffers, one chunk and the index, whatever the segment's size.
 * Runs where the flush and compaction jobs run: in pool workers, after `loadChecksum`.
 *
 * One call at a time: each promise is awaited before the next call. After any error only `abort` is allowed.
 */
import { assert, AssertionError } from '../base/assert.ts';
import { alignUp, PAGE_BYTES, viewOf, writeUint64 } from '../base/bytes.ts';
import { xxh64Parts } from '../codec/checksum.ts';
import { type ChunkMemory, giveBackChunkMemory, takeChunkMemory } from '../codec/chunk-memory.ts';
import { CODEC } from '../codec/compression.ts';
import type { Compression } from '../record/stream-config.ts';
import {
  CHUNK_ALIGNMENT,
  CHUNK_CHECKED_FROM,
  CHUNK_FIELD,
  CHUNK_FLAG,
  CHUNK_HEADER_BYTES,
  chunkBytes,
  type ChunkHeader,
  chunkProblem,
  type ChunkType,
  readChunkHeader,
  writeChunkHeader,
} from './chunk-format.ts';
import type { StoredChunk } from './chunk-reader.ts';
import { FooterBuilder } from './footer-builder.ts';
import {
  type DeadBytes,
  type FooterRun,
  objectKeyHash,
  SEGMENT_VERSION,
  type SegmentFacts,
  STORE_ID_BYTES,
  TAIL_BYTES,
  TAIL_CHECKED_TO,
  TAIL_FIELD,
  TAIL_MAGIC,
} from './format.ts';
import { encodeSegmentHeader } from './header.ts';
import { PagedOutput } from './paged-output.ts';
import { RunTotals } from './run-totals.ts';
import type { SegmentSink } from './sink.ts';

/** What a chunk to be written holds. The caller states the facts: the body's frames are not looked at. */
export interface ChunkFacts {
  readonly type: ChunkType;
  /** What is wanted; a body that compression makes hardly smaller is stored as it is. */
  readonly compression: Compression;
  /** Where the run goes on; in a relative run counted from the run's start. */
  readonly firstOffset: number;
  readonly offsetSpan: number;
  readonly recordCount: number;
  readonly epoch: number;
  /** Smallest and largest record timestamp; 0 and 0 without records. */
  readonly firstTimestamp: number;
  readonly lastTimestamp: number;
  readonly userBytes: number;
  /** Tracking that rides on a records chunk. */
  readonly trailer?: Uint8Array;
  /** Added to the offsets inside the frames. Default 0. */
  readonly frameBase?: number;
}

/** A chunk whose body lies elsewhere. */
export interface ChunkInput extends ChunkFacts {
  /** Whole frames, or the tracking of a tracking chunk. May be shared memory that stays as it is meanwhile. */
  readonly body: Uint8Array;
}

/** A chunk of another segment, as its reader has verified it. */
export type StoredContent = Pick<StoredChunk, 'bytes' | 'contentChecksum'>;

/** The segment as it was committed. */
export interface WrittenSegment {
  readonly bytes: number;
  /** The footer's checksum. It covers every chunk's checksum, and so the whole segment. */
  readonly checksum: bigint;
  /** Made when asked for: a flush knows its runs. */
  readonly runs: readonly FooterRun[];
}

/** A larger result is not worth decompressing at every read. */
const COMPRESSED_SHARE_MAX = 7 / 8;

const NO_BYTES = new Uint8Array(0);
const ZEROS = new Uint8Array(PAGE_BYTES);
const NOTHING_DEAD: DeadBytes = { records: 0, tracking: 0 };

export class SegmentWriter {
  /** The body of the next chunk is gathered here. */
  readonly memory: ChunkMemory = takeChunkMemory();
  readonly #sink: SegmentSink;
  readonly #facts: SegmentFacts;
  readonly #keyHash: bigint;
  readonly #output: PagedOutput;
  readonly #footer: FooterBuilder = new FooterBuilder();
  /** Reused for every chunk header. */
  readonly #header: Uint8Array = new Uint8Array(CHUNK_HEADER_BYTES);
  readonly #headerView: DataView = viewOf(this.#header);
  #run: RunTotals | undefined;
  #runPosition = 0;
  #lastRun: FooterRun | undefined;
  #state: 'open' | 'busy' | 'ended' = 'open';

  constructor(sink: SegmentSink, facts: SegmentFacts) {
    assert(facts.storeId.length === STORE_ID_BYTES, 'a store id has 16 bytes');
    this.#sink = sink;
    this.#facts = facts;
    this.#keyHash = objectKeyHash(facts.objectKey);
    this.#output = new PagedOutput(sink);
    this.#output.put(encodeSegmentHeader(facts));
  }

  /** The segment's size if it were finished now: for the decision to start another one. */
  get bytes(): number {
    return alignUp(this.#output.position + this.#footer.bytes + TAIL_BYTES, PAGE_BYTES);
  }

  /** Runs and chunks so far, both bounded by `limits`. */
  get runs(): number {
    return this.#footer.runs;
  }

  get chunks(): number {
    return this.#footer.chunks;
  }

  /**
   * Starts the next run. Runs come in the order of stream id and offset. In a `relative` run offsets count from 0
   * and the coordinator assigns the first one; a stream has at most one such run in a segment.
   */
  beginRun(streamId: number, firstOffset: number, options: { readonly relative?: boolean } = {}): void {
    const relative = options.relative ?? false;
    const last = this.#lastRun;
    assert(this.#state === 'open' && this.#run === undefined, 'a run begins after the last one ended');
    assert(!relative || firstOffset === 0, 'offsets of a relative run count from 0');
    const follows =
      last === undefined ||
      streamId > last.streamId ||
      (streamId === last.streamId && !relative && !last.relative && firstOffset >= last.nextOffset);
    assert(follows, 'runs come in the order of stream id and offset');
    this.#run = new RunTotals(streamId, firstOffset, relative);
    this.#runPosition = this.#output.position;
  }

  /** Adds a chunk to the open run. */
  async addChunk(chunk: ChunkInput): Promise<void> {
    assert(this.#state === 'open' && this.memory.gathered === 0, 'a chunk that is being gathered comes first');
    this.memory.gather(chunk.body, 0, chunk.body.length);
    await this.addGathered(chunk);
  }

  /** Adds the chunk whose body was gathered in `memory`. */
  async addGathered(chunk: ChunkFacts): Promise<void> {
    const run = this.#take();
    if (!this.takesNow(this.memory.gathered + (chunk.trailer?.length ?? 0))) await this.#output.settle();
    const bytes = this.#build(run, chunk);
    if (bytes.length <= this.#output.room) this.#output.put(bytes);
    else await this.#output.putAll(bytes);
    this.#done();
  }

  /** Whether there is room for a chunk with so many bytes of body and trailer without waiting for a write. */
  takesNow(bytes: number): boolean {
    return chunkBytes(bytes, 0) <= this.#output.room;
  }

  /** The same without a promise, which a chunk of 3 KiB would notice: `takesNow` said that there is room. */
  addGatheredNow(chunk: ChunkFacts): void {
    const run = this.#take();
    this.#output.put(this.#build(run, chunk));
    this.#done();
  }

  /**
   * Adds a chunk as another segment holds it, verified by whoever read it. With `base`, the first offset of its run
   * there, a relative chunk becomes absolute; its body stays as it is.
   */
  async addStoredChunk({ bytes, contentChecksum }: StoredContent, base?: number): Promise<void> {
    const run = this.#take();
    if (bytes.length > this.#output.room) await this.#output.settle();
    const stored = readChunkHeader(viewOf(bytes), 0);
    assert(bytes.length === chunkBytes(stored.storedBytes, stored.trailerBytes), 'a stored chunk is passed on whole');
    const stays = (stored.flags & CHUNK_FLAG.relative) === 0 || base === undefined;
    const { firstOffset, frameBase } = stored;
    const header = stays
      ? stored
      : { ...stored, flags: 0, firstOffset: firstOffset + base, frameBase: frameBase + base };
    checkChunk(run, header);
    writeChunkHeader(this.#headerView, 0, header);
    const rest = bytes.subarray(CHUNK_HEADER_BYTES);
    const content = stays ? contentChecksum : xxh64Parts([this.#header.subarray(CHUNK_CHECKED_FROM), rest]);
    const checksum = content ^ this.#keyHash;
    this.#headerView.setBigUint64(CHUNK_FIELD.checksum, checksum, true);
    await this.#append(run, header, checksum, [this.#header, rest]);
  }

  /** Ends the open run, which holds at least one chunk. `dead`: bytes of it that nothing will ever need. */
  endRun(dead: DeadBytes = NOTHING_DEAD): FooterRun {
    const totals = this.#take();
    assert(totals.chunks > 0, 'a run has chunks');
    const byteLength = this.#output.position - this.#runPosition;
    const run = totals.footerRun(this.#runPosition, byteLength, this.#footer.chunks - totals.chunks, dead);
    assert(dead.records + dead.tracking <= run.byteLength, 'no more bytes are dead than there are');
    this.#footer.addRun(run);
    this.#lastRun = run;
    this.#run = undefined;
    this.#state = 'open';
    return run;
  }

  /** Writes the footer and commits the object. */
  async finish(): Promise<WrittenSegment> {
    assert(this.#state === 'open' && this.#run === undefined, 'a segment is finished once, after its last run');
    this.#state = 'busy';
    const runsEnd = this.#output.position;
    const footer = this.#footer.build(this.#facts, runsEnd);
    const footerBytes = this.#footer.bytes;
    const padding = ZEROS.subarray(0, this.bytes - runsEnd - footerBytes - TAIL_BYTES);
    const tail = new Uint8Array(TAIL_BYTES);
    const checksum = sealTail(tail, runsEnd + padding.length, footer, footerBytes);
    for (const part of [padding, ...footer, tail]) await this.#output.putAll(part);
    await this.#output.finish();
    const bytes = await this.#sink.commit();
    assert(bytes === this.#output.position, 'the object store kept what it was given');
    // Unless `abort` came in between, which gave it back.
    if (this.#state === 'busy') giveBackChunkMemory(this.memory);
    this.#state = 'ended';
    const written = this.#footer;
    return {
      bytes,
      checksum,
      get runs(): readonly FooterRun[] {
        return [...written.listRuns()];
      },
    };
  }

  /** Leaves nothing behind. Allowed at any time; never rejects. */
  async abort(): Promise<void> {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    await this.#output.abandon();
    giveBackChunkMemory(this.memory);
    await this.#sink.abort();
  }

  /** The open run, with the writer marked busy until the call has done its work: an error leaves it so. */
  #take(): RunTotals {
    assert(this.#state === 'open', 'one call at a time, and none after an error');
    assert(this.#run !== undefined, 'chunks lie in runs');
    this.#state = 'busy';
    return this.#run;
  }

  /** Puts the gathered chunk together, and counts it. Returns its bytes, which lie in `memory`. */
  #build(run: RunTotals, chunk: ChunkFacts): Uint8Array {
    const { memory } = this;
    const { trailer = NO_BYTES } = chunk;
    const rawBytes = memory.gathered;
    const at = memory.reserve(CHUNK_HEADER_BYTES + trailer.length + CHUNK_ALIGNMENT);
    const body = at + CHUNK_HEADER_BYTES;
    const compressed = chunk.compression === 'none' ? rawBytes : memory.compressTo(body);
    const smaller = compressed < rawBytes * COMPRESSED_SHARE_MAX;
    if (!smaller) memory.copyTo(body);
    const header: ChunkHeader = {
      type: chunk.type,
      codec: smaller ? CODEC.lz4 : CODEC.none,
      flags: run.relative ? CHUNK_FLAG.relative : 0,
      streamId: run.streamId,
      firstOffset: chunk.firstOffset,
      frameBase: chunk.frameBase ?? 0,
      recordCount: chunk.recordCount,
      offsetSpan: chunk.offsetSpan,
      firstTimestamp: chunk.firstTimestamp,
      lastTimestamp: chunk.lastTimestamp,
      epoch: chunk.epoch,
      userBytes: chunk.userBytes,
      rawBytes,
      storedBytes: smaller ? compressed : rawBytes,
      trailerBytes: trailer.length,
      reserved: 0,
    };
    checkChunk(run, header);
    writeChunkHeader(memory.view, at, header);
    const end = at + chunkBytes(header.storedBytes, trailer.length);
    const trailerAt = body + header.storedBytes;
    if (trailer.length > 0) memory.bytes.set(trailer, trailerAt);
    memory.bytes.fill(0, trailerAt + trailer.length, end);
    const checksum = memory.checksum(at + CHUNK_CHECKED_FROM, end) ^ this.#keyHash;
    memory.view.setBigUint64(at + CHUNK_FIELD.checksum, checksum, true);
    memory.clear();
    this.#count(run, header, checksum);
    return memory.bytes.subarray(at, end);
  }

  #count(run: RunTotals, header: ChunkHeader, checksum: bigint): void {
    const position = this.#output.position;
    assert(position % CHUNK_ALIGNMENT === 0, 'chunks are aligned');
    run.add(header);
    this.#footer.addChunk(position, header.firstOffset, run.latestTimestamp, checksum);
  }

  /** Unless `abort` came in between. */
  #done(): void {
    if (this.#state === 'busy') this.#state = 'open';
  }

  /** Copies without waiting when there is room for all `parts`. */
  async #append(run: RunTotals, header: ChunkHeader, checksum: bigint, parts: readonly Uint8Array[]): Promise<void> {
    this.#count(run, header, checksum);
    if (chunkBytes(header.storedBytes, header.trailerBytes) <= this.#output.room) {
      for (const part of parts) this.#output.put(part);
    } else {
      for (const part of parts) await this.#output.putAll(part);
    }
    this.#done();
  }
}

function checkChunk(run: RunTotals, header: ChunkHeader): void {
  const problem = chunkProblem(header, Infinity) ?? run.problem(header);
  if (problem !== undefined) throw new AssertionError(`a chunk that no reader would take: ${problem}`);
}

/** Fills `tail` and returns the checksum over it and the footer. */
function sealTail(tail: Uint8Array, position: number, footer: readonly Uint8Array[], footerBytes: number): bigint {
  const view = viewOf(tail);
  writeUint64(view, TAIL_FIELD.footerPosition, position);
  view.setUint32(TAIL_FIELD.footerBytes, footerBytes, true);
  view.setUint16(TAIL_FIELD.version, SEGMENT_VERSION, true);
  view.setUint32(TAIL_FIELD.magic, TAIL_MAGIC, true);
  const checksum = xxh64Parts([...footer, tail.subarray(0, TAIL_CHECKED_TO)]);
  view.setBigUint64(TAIL_FIELD.checksum, checksum, true);
  return checksum;
}
