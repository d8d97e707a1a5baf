/**
 * Gathers the frames of one run into chunks of about `CHUNK_RAW_BYTES_TARGET`, in the memory where the segment's writer
 * compresses them. Flush and compaction feed it.
 */
import { assert } from '../base/assert.ts';
import { CHUNK_OFFSETS_MAX, CHUNK_RAW_BYTES_TARGET } from '../limits/limits.ts';
import { type FrameHeader, frameTimestamps } from '../record/frame-reader.ts';
import type { Compression } from '../record/stream-config.ts';
import { CHUNK_TYPE } from './chunk-format.ts';
import type { ChunkFacts, SegmentWriter } from './writer.ts';

const NO_TRAILER = new Uint8Array(0);

/** What decides whether a frame fits a chunk. */
type FramePlace = Pick<FrameHeader, 'firstOffset' | 'offsetSpan' | 'frameBytes'>;

export class FrameChunker {
  readonly #writer: SegmentWriter;
  #compression: Compression = 'lz4';
  #frameBase = 0;
  #firstOffset = 0;
  #nextOffset = 0;
  #records = 0;
  #userBytes = 0;
  #epoch = 0;
  #firstTimestamp = Infinity;
  #lastTimestamp = -Infinity;

  constructor(writer: SegmentWriter) {
    this.#writer = writer;
  }

  /**
   * Starts the next run. `firstOffset` may lie below its first frame: the offsets between hold no record. `frameBase`
   * is added to the offsets inside the frames: a run whose offsets the coordinator assigns counts from 0.
   */
  begin(firstOffset: number, compression: Compression, frameBase = 0): void {
    this.#compression = compression;
    this.#frameBase = frameBase;
    this.#nextOffset = firstOffset;
    this.#reset();
  }

  /** Whether the open chunk takes the frame; otherwise `writeBefore` comes before `add`. */
  fits({ firstOffset, offsetSpan, frameBytes }: FramePlace): boolean {
    const end = firstOffset + offsetSpan + this.#frameBase;
    if (end - this.#firstOffset > CHUNK_OFFSETS_MAX) return false;
    const { gathered } = this.#writer.memory;
    return gathered === 0 || gathered + frameBytes <= CHUNK_RAW_BYTES_TARGET;
  }

  /** Adds the frame that lies at `at` in `source`, whose view is `view`, by copying it. */
  add(source: Uint8Array, view: DataView, at: number, header: FrameHeader): void {
    assert(this.fits(header), 'the open chunk was written before');
    this.#count(view, at, header);
    this.#writer.memory.gather(source, at, header.frameBytes);
  }

  /** Whether the open chunk holds no frame. */
  get empty(): boolean {
    return this.#writer.memory.gathered === 0;
  }

  /** One past the last offset covered so far: where the next frame or chunk goes on. */
  get nextOffset(): number {
    return this.#nextOffset;
  }

  /** Makes what is open reach up to `nextOffset`: no frame that follows holds the offsets in between. */
  cover(nextOffset: number): void {
    assert(nextOffset >= this.#nextOffset, 'a chunk never gets shorter');
    this.#nextOffset = nextOffset;
  }

  /** Whether the open chunk has to be written before another one can follow or the run can end. */
  get pending(): boolean {
    return !this.empty || this.#nextOffset > this.#firstOffset;
  }

  /** Goes on behind a chunk that somebody else has written up to `nextOffset`. */
  skip(nextOffset: number): void {
    assert(!this.pending && nextOffset >= this.#nextOffset, 'the open chunk was written before');
    this.#nextOffset = nextOffset;
    this.#reset();
  }

  #count(view: DataView, at: number, header: FrameHeader): void {
    this.#nextOffset = header.firstOffset + header.offsetSpan + this.#frameBase;
    this.#records += header.recordCount;
    this.#userBytes += header.userBytes;
    this.#epoch = Math.max(this.#epoch, header.epoch);
    const times = frameTimestamps(view, at, header);
    if (times === undefined) return;
    this.#firstTimestamp = Math.min(this.#firstTimestamp, times.first);
    this.#lastTimestamp = Math.max(this.#lastTimestamp, times.last);
  }

  /**
   * Writes what is open, which holds a frame or covers offsets, and returns in how many chunks: of the offsets that it
   * covers behind its last frame there may be more than one chunk can count. `trailer` is tracking that rides on the
   * last one. `epoch` is the least that they claim: that of their stream where its frames are older.
   */
  async write(trailer: Uint8Array = NO_TRAILER, epoch = 0): Promise<number> {
    assert(this.pending, 'a chunk holds a frame or covers offsets');
    const nextOffset = this.#nextOffset;
    let chunks = 0;
    do {
      const end = Math.min(nextOffset, this.#firstOffset + CHUNK_OFFSETS_MAX);
      await this.#writeUpTo(end, end === nextOffset ? trailer : NO_TRAILER, epoch);
      chunks += 1;
    } while (this.#nextOffset < nextOffset);
    return chunks;
  }

  /** The same without a promise, for what is one chunk that the writer takes now. */
  writeNow(trailer: Uint8Array, epoch: number): void {
    assert(this.pending && this.#nextOffset - this.#firstOffset <= CHUNK_OFFSETS_MAX, 'what is open is one chunk');
    this.#writer.addGatheredNow(this.#chunkUpTo(this.#nextOffset, trailer, epoch));
    this.#reset();
  }

  /** Writes what is open up to a frame that does not fit it. Returns the number of chunks. */
  writeBefore({ firstOffset }: FramePlace): Promise<number> {
    this.cover(firstOffset + this.#frameBase);
    return this.write();
  }

  async #writeUpTo(nextOffset: number, trailer: Uint8Array, epoch: number): Promise<void> {
    const chunk = this.#chunkUpTo(nextOffset, trailer, epoch);
    this.#nextOffset = nextOffset;
    this.#reset();
    await this.#writer.addGathered(chunk);
  }

  #chunkUpTo(nextOffset: number, trailer: Uint8Array, epoch: number): ChunkFacts {
    const firstOffset = this.#firstOffset;
    return {
      type: CHUNK_TYPE.records,
      compression: this.#compression,
      firstOffset,
      offsetSpan: nextOffset - firstOffset,
      recordCount: this.#records,
      epoch: Math.max(epoch, this.#epoch),
      firstTimestamp: this.#records === 0 ? 0 : this.#firstTimestamp,
      lastTimestamp: this.#records === 0 ? 0 : this.#lastTimestamp,
      userBytes: this.#userBytes,
      trailer,
      frameBase: this.#frameBase,
    };
  }

  #reset(): void {
    this.#firstOffset = this.#nextOffset;
    this.#records = 0;
    this.#userBytes = 0;
    this.#epoch = 0;
    this.#firstTimestamp = Infinity;
    this.#lastTimestamp = -Infinity;
  }
}
