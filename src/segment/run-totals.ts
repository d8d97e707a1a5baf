/**
 * Adds up a run from its chunk headers. The writer fills the footer with it and `verify` recomputes it, so that the two
 * can never count differently.
 */
import { CHUNK_FLAG, type ChunkHeader, trackingBytesOf } from './chunk-format.ts';
import { type DeadBytes, type FooterRun, NO_TIMESTAMP } from './format.ts';

export class RunTotals {
  readonly streamId: number;
  readonly firstOffset: number;
  readonly relative: boolean;
  #nextOffset: number;
  #chunks = 0;
  #records = 0;
  #userBytes = 0;
  #trackingBytes = 0;
  #firstTimestamp = 0;
  #lastTimestamp = 0;
  #epoch = 0;

  constructor(streamId: number, firstOffset: number, relative: boolean) {
    this.streamId = streamId;
    this.firstOffset = firstOffset;
    this.relative = relative;
    this.#nextOffset = firstOffset;
  }

  get chunks(): number {
    return this.#chunks;
  }

  /** The largest timestamp so far, as the chunk index keeps it. */
  get latestTimestamp(): number {
    return this.#records === 0 ? NO_TIMESTAMP : this.#lastTimestamp;
  }

  /** Why `header` cannot be the next chunk of the run; `undefined` when it is. A gap in offsets begins a new run. */
  problem(header: ChunkHeader): string | undefined {
    const relative = (header.flags & CHUNK_FLAG.relative) !== 0;
    if (header.streamId !== this.streamId) {
      return `a chunk of stream ${header.streamId} in a run of stream ${this.streamId}`;
    }
    if (header.firstOffset !== this.#nextOffset) {
      return `first offset ${header.firstOffset} where the run goes on at ${this.#nextOffset}`;
    }
    return relative === this.relative ? undefined : 'relative and absolute offsets in one run';
  }

  add(header: ChunkHeader): void {
    if (header.recordCount > 0) {
      const first = this.#records === 0;
      this.#firstTimestamp = first ? header.firstTimestamp : Math.min(this.#firstTimestamp, header.firstTimestamp);
      this.#lastTimestamp = first ? header.lastTimestamp : Math.max(this.#lastTimestamp, header.lastTimestamp);
    }
    this.#chunks += 1;
    this.#nextOffset += header.offsetSpan;
    this.#records += header.recordCount;
    this.#userBytes += header.userBytes;
    this.#trackingBytes += trackingBytesOf(header);
    this.#epoch = Math.max(this.#epoch, header.epoch);
  }

  /** The run as the footer holds it. Spelled out: a spread here costs 7 us a run, and a flush ends thousands. */
  footerRun(byteOffset: number, byteLength: number, firstChunk: number, dead: DeadBytes): FooterRun {
    return {
      streamId: this.streamId,
      firstOffset: this.firstOffset,
      nextOffset: this.#nextOffset,
      records: this.#records,
      userBytes: this.#userBytes,
      trackingBytes: this.#trackingBytes,
      firstTimestamp: this.#firstTimestamp,
      lastTimestamp: this.#lastTimestamp,
      epoch: this.#epoch,
      byteOffset,
      byteLength,
      chunks: this.#chunks,
      relative: this.relative,
      dead,
      firstChunk,
    };
  }
}
