/**
 * What is appended, decided by numbers alone: whoever has the corpus and the size can say what record `k` of a stream
 * is. The parent needs no copy of what its child wrote to know what must be there.
 */
import type { CorpusStream } from './corpus.ts';

/** Records carry their own number in their timestamp, so that no two of a stream are equal. */
const TIMESTAMP_BASE = Date.UTC(2026, 0, 1);
/** Bytes of one `appendMany`. */
const BATCH_BYTES = 128 * 1024;
/** One step in so many appends its records one by one. */
const SINGLE_EVERY = 16;
const SINGLE_RECORDS = 64;
/** The least by which a plan that came out too small grows, in passes over the corpus. */
const PASS_STEP = 0.001;

export interface Step {
  /** Index of the stream. */
  readonly stream: number;
  /** Number of its first record, which is its offset. */
  readonly first: number;
  readonly count: number;
  /** One `append` a record, instead of one `appendMany`. */
  readonly singly: boolean;
}

export class Plan {
  readonly corpus: readonly CorpusStream[];
  /** Records of each stream. */
  readonly totals: readonly number[];
  readonly totalBytes: number;
  readonly #batchRecords: readonly number[];

  /** Every stream repeats its records as often as the others do, until all together hold at least `bytes`. */
  constructor(corpus: readonly CorpusStream[], bytes: number) {
    const corpusBytes = corpus.reduce((sum, stream) => sum + stream.bytes, 0);
    this.corpus = corpus;
    let passes = bytes / corpusBytes;
    let totals = this.#totalsFor(passes);
    // A part of a pass may hold the shorter records.
    for (let found = this.bytesThrough(totals); found < bytes; found = this.bytesThrough(totals)) {
      passes += Math.max((bytes - found) / corpusBytes, PASS_STEP);
      totals = this.#totalsFor(passes);
    }
    this.totals = totals;
    this.totalBytes = this.bytesThrough(totals);
    this.#batchRecords = corpus.map(({ records, bytes: all }) => Math.ceil((BATCH_BYTES * records.length) / all));
  }

  value(stream: number, index: number): Buffer {
    const { records } = this.#corpusOf(stream);
    return records[index % records.length] as Buffer;
  }

  timestamp(index: number): number {
    return TIMESTAMP_BASE + index;
  }

  /** Bytes of all values below `positions`. */
  bytesThrough(positions: readonly number[]): number {
    return positions.reduce((sum, position, stream) => sum + this.#streamBytes(stream, position), 0);
  }

  /** What comes next: the stream that is furthest behind goes on. `undefined` when all are complete. */
  next(positions: readonly number[], steps: number): Step | undefined {
    let stream = -1;
    let least = 1;
    for (const [index, total] of this.totals.entries()) {
      const share = (positions[index] ?? 0) / total;
      if (share >= least) continue;
      least = share;
      stream = index;
    }
    if (stream < 0) return undefined;
    const first = positions[stream] ?? 0;
    const left = (this.totals[stream] ?? 0) - first;
    const singly = steps % SINGLE_EVERY === SINGLE_EVERY - 1;
    const count = Math.min(left, singly ? SINGLE_RECORDS : (this.#batchRecords[stream] ?? 1));
    return { stream, first, count, singly };
  }

  #totalsFor(passes: number): number[] {
    return this.corpus.map(({ records }) => Math.ceil(records.length * passes));
  }

  #streamBytes(stream: number, position: number): number {
    const { records, bytes } = this.#corpusOf(stream);
    const passes = Math.floor(position / records.length);
    let sum = passes * bytes;
    for (let index = passes * records.length; index < position; index += 1) sum += this.value(stream, index).length;
    return sum;
  }

  #corpusOf(stream: number): CorpusStream {
    const found = this.corpus[stream];
    if (found === undefined) throw new RangeError(`stream ${stream} of ${this.corpus.length}`);
    return found;
  }
}
