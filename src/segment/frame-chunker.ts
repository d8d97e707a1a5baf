/** Gathers the frames of one run into chunks of about `CHUNK_RAW_BYTES_TARGET`. Flush and compaction feed it. */
import { assert } from '../base/assert.ts';
import { CHUNK_RAW_BYTES_TARGET } from '../limits/limits.ts';
import { type FrameHeader, frameTimestamps } from '../record/frame-reader.ts';
import type { Compression } from '../record/stream-config.ts';
import { CHUNK_TYPE } from './chunk-format.ts';
import type { SegmentWriter } from './writer.ts';

const NO_TRAILER = new Uint8Array(0);

export class FrameChunker {
  readonly #writer: SegmentWriter;
  #buffer: Uint8Array = new Uint8Array(CHUNK_RAW_BYTES_TARGET);
  #compression: Compression = 'lz4';
  #bytes = 0;
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

  /** Starts the next run. `firstOffset` may lie below its first frame: the offsets between hold no record. */
  begin(firstOffset: number, compression: Compression): void {
    this.#compression = compression;
    this.#nextOffset = firstOffset;
    this.#reset();
  }

  /** Whether `frameBytes` more fit the open chunk; otherwise `write` comes before `add`. */
  fits(frameBytes: number): boolean {
    return this.#bytes === 0 || this.#bytes + frameBytes <= this.#buffer.length;
  }

  /** Adds the frame that lies at `at` in `source`, whose view is `view`, by copying it. */
  add(source: Uint8Array, view: DataView, at: number, header: FrameHeader): void {
    assert(this.fits(header.frameBytes), 'the open chunk was written before');
    if (header.frameBytes > this.#buffer.length) this.#buffer = new Uint8Array(header.frameBytes);
    this.#count(view, at, header);
    this.#buffer.set(source.subarray(at, at + header.frameBytes), this.#bytes);
    this.#bytes += header.frameBytes;
  }

  /** Whether the open chunk holds no frame. */
  get empty(): boolean {
    return this.#bytes === 0;
  }

  #count(view: DataView, at: number, header: FrameHeader): void {
    this.#nextOffset = header.firstOffset + header.offsetSpan;
    this.#records += header.recordCount;
    this.#userBytes += header.userBytes;
    this.#epoch = Math.max(this.#epoch, header.epoch);
    const times = frameTimestamps(view, at, header);
    if (times === undefined) return;
    this.#firstTimestamp = Math.min(this.#firstTimestamp, times.first);
    this.#lastTimestamp = Math.max(this.#lastTimestamp, times.last);
  }

  /** Writes the open chunk, which holds a frame. `trailer` is tracking that rides on it. */
  async write(trailer: Uint8Array = NO_TRAILER): Promise<void> {
    assert(this.#bytes > 0, 'a chunk holds a frame');
    const firstOffset = this.#firstOffset;
    const chunk = {
      type: CHUNK_TYPE.records,
      compression: this.#compression,
      firstOffset,
      offsetSpan: this.#nextOffset - firstOffset,
      recordCount: this.#records,
      epoch: this.#epoch,
      firstTimestamp: this.#records === 0 ? 0 : this.#firstTimestamp,
      lastTimestamp: this.#records === 0 ? 0 : this.#lastTimestamp,
      userBytes: this.#userBytes,
      body: this.#buffer.subarray(0, this.#bytes),
      trailer,
    };
    this.#reset();
    await this.#writer.addChunk(chunk);
  }

  #reset(): void {
    this.#firstOffset = this.#nextOffset;
    this.#bytes = 0;
    this.#records = 0;
    this.#userBytes = 0;
    this.#epoch = 0;
    this.#firstTimestamp = Infinity;
    this.#lastTimestamp = -Infinity;
  }
}
