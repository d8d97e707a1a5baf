/**
 * A segment's footer: run table and chunk index, kept as the bytes they are on disk and decoded entry by entry.
 * A million chunks cost no object until one of them is asked for.
 */
import { assert } from '../base/assert.ts';
import { readInt64, readUint64, viewOf } from '../base/bytes.ts';
import {
  FOOTER_FIELD,
  FOOTER_HEADER_BYTES,
  type FooterRun,
  INDEX_ENTRY_BYTES,
  INDEX_FIELD,
  RUN_BYTES,
  RUN_FIELD,
  STORE_ID_BYTES,
} from './format.ts';
import { readRun } from './run-entry.ts';

/** Where a chunk lies, from the index. */
export interface IndexedChunk {
  readonly position: number;
  /** Header, body, trailer and padding. */
  readonly bytes: number;
  /** As stored: in a relative run counted from its start. */
  readonly firstOffset: number;
  /** Largest record timestamp of the run up to and with this chunk; `NO_TIMESTAMP` before any record. */
  readonly latestTimestamp: number;
  readonly checksum: bigint;
}

/** The footer's bytes behind lookups. `parseFooter` is the only way to one: it has checked every entry. */
export class SegmentFooter {
  readonly #view: DataView;
  readonly #chunksFrom: number;
  /** Number of runs. */
  readonly runs: number;
  /** Number of chunks. */
  readonly chunks: number;
  /** One past the last chunk; zeros and the footer follow. */
  readonly runsEnd: number;
  /** Of the footer in the segment. */
  readonly position: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly storeId: Uint8Array;
  /** Of the object key. The checksums of chunks have it in them. */
  readonly keyHash: bigint;
  /** Over the footer, and through the index over every chunk. */
  readonly checksum: bigint;

  /** `footer` begins with the footer header; only sizes were checked before. */
  constructor(footer: Uint8Array, position: number, checksum: bigint) {
    this.#view = viewOf(footer);
    this.runs = this.#view.getUint32(FOOTER_FIELD.runs, true);
    this.chunks = this.#view.getUint32(FOOTER_FIELD.chunks, true);
    this.runsEnd = readUint64(this.#view, FOOTER_FIELD.runsEnd);
    this.createdAt = readInt64(this.#view, FOOTER_FIELD.createdAt);
    this.storeId = new Uint8Array(footer.subarray(FOOTER_FIELD.storeId, FOOTER_FIELD.storeId + STORE_ID_BYTES));
    this.keyHash = this.#view.getBigUint64(FOOTER_FIELD.objectKeyHash, true);
    this.position = position;
    this.checksum = checksum;
    this.#chunksFrom = FOOTER_HEADER_BYTES + this.runs * RUN_BYTES;
  }

  run(index: number): FooterRun {
    assert(index >= 0 && index < this.runs, 'a run of this segment');
    return readRun(this.#view, this.#runAt(index));
  }

  /** The flags and the reserved field of a run, known or not: for judging the table. */
  runExtras(index: number): { readonly flags: number; readonly reserved: number } {
    const at = this.#runAt(index);
    return {
      flags: this.#view.getUint32(at + RUN_FIELD.flags, true),
      reserved: this.#view.getUint32(at + RUN_FIELD.reserved, true),
    };
  }

  /** All runs in order, decoded one at a time. */
  *listRuns(): Generator<FooterRun> {
    for (let index = 0; index < this.runs; index += 1) yield this.run(index);
  }

  /** The runs of one stream, in the order of offsets. */
  *runsOf(streamId: number): Generator<FooterRun> {
    const from = partition(0, this.runs, (index) => this.#streamAt(index) < streamId);
    for (let index = from; index < this.runs && this.#streamAt(index) === streamId; index += 1) yield this.run(index);
  }

  /**
   * The stream's run that covers `offset`, or without one its first run. In a relative run offsets count from 0.
   * `undefined` when there is none.
   */
  findRun(streamId: number, offset?: number): FooterRun | undefined {
    for (const run of this.runsOf(streamId)) {
      if (offset === undefined || (run.firstOffset <= offset && offset < run.nextOffset)) return run;
    }
    return undefined;
  }

  /** The run whose first chunk lies at `byteOffset`, as a coordinate names it. */
  findRunAt(byteOffset: number): FooterRun | undefined {
    const at = (index: number): number => readUint64(this.#view, this.#runAt(index) + RUN_FIELD.byteOffset);
    const index = partition(0, this.runs, (candidate) => at(candidate) < byteOffset);
    return index < this.runs && at(index) === byteOffset ? this.run(index) : undefined;
  }

  /** A chunk by its index in the segment: a run's chunks are `firstChunk` and the ones that follow. */
  chunk(index: number): IndexedChunk {
    assert(index >= 0 && index < this.chunks, 'a chunk of this segment');
    const at = this.#chunkAt(index);
    const position = readUint64(this.#view, at + INDEX_FIELD.position);
    const end = index + 1 < this.chunks ? this.chunkPosition(index + 1) : this.runsEnd;
    return {
      position,
      bytes: end - position,
      firstOffset: this.chunkFirstOffset(index),
      latestTimestamp: this.chunkLatestTimestamp(index),
      checksum: this.#view.getBigUint64(at + INDEX_FIELD.checksum, true),
    };
  }

  chunkPosition(index: number): number {
    return readUint64(this.#view, this.#chunkAt(index) + INDEX_FIELD.position);
  }

  chunkFirstOffset(index: number): number {
    return readUint64(this.#view, this.#chunkAt(index) + INDEX_FIELD.firstOffset);
  }

  chunkLatestTimestamp(index: number): number {
    return readInt64(this.#view, this.#chunkAt(index) + INDEX_FIELD.latestTimestamp);
  }

  /** Index of the chunk of `run` that covers `offset`; `undefined` outside the run. */
  chunkForOffset(run: FooterRun, offset: number): number | undefined {
    if (offset < run.firstOffset || offset >= run.nextOffset) return undefined;
    const end = run.firstChunk + run.chunks;
    // Tracking chunks cover nothing: they share their first offset with the records chunk that follows, which wins.
    return partition(run.firstChunk, end, (index) => this.chunkFirstOffset(index) <= offset) - 1;
  }

  /** Index of the first chunk of `run` with a record at or after `timestamp`; `undefined` when all are earlier. */
  chunkForTimestamp(run: FooterRun, timestamp: number): number | undefined {
    const end = run.firstChunk + run.chunks;
    const index = partition(run.firstChunk, end, (candidate) => this.chunkLatestTimestamp(candidate) < timestamp);
    return index === end || run.records === 0 ? undefined : index;
  }

  #runAt(index: number): number {
    return FOOTER_HEADER_BYTES + index * RUN_BYTES;
  }

  #streamAt(index: number): number {
    return this.#view.getUint32(this.#runAt(index) + RUN_FIELD.streamId, true);
  }

  #chunkAt(index: number): number {
    return this.#chunksFrom + index * INDEX_ENTRY_BYTES;
  }
}

/** The first index in [`from`, `to`) that is not `before`, where all that are come first; `to` when all are. */
function partition(from: number, to: number, before: (index: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    if (before(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
