/**
 * All live runs of the store as rows of numbers, outside of the garbage collector's sight: a million runs take 136 MB
 * and open without a million objects being made. A row's number is stable while its run lives, and used again later.
 */
import { assert } from '../../base/assert.ts';
import { small } from '../../record/run-columns.ts';
import type { KeptRun } from '../runs.ts';

/** Columns of a row. */
export const RUN = {
  streamId: 0,
  firstOffset: 1,
  nextOffset: 2,
  /** Below `nextOffset` when a truncation cut the run. */
  endOffset: 3,
  records: 4,
  userBytes: 5,
  trackingBytes: 6,
  firstTimestamp: 7,
  lastTimestamp: 8,
  epoch: 9,
  byteOffset: 10,
  byteLength: 11,
  chunks: 12,
  /** 1 when the run begins with a tracking snapshot, else 0. */
  snapshot: 13,
  objectNumber: 14,
  /** Neighbours in the list of the object's live runs, or `NO_ROW`. */
  nextInObject: 15,
  previousInObject: 16,
} as const;
export type RunColumn = (typeof RUN)[keyof typeof RUN];

const COLUMNS = 17;
export const NO_ROW = -1;

const PAGE_BITS = 10;
const PAGE_ROWS = 2 ** PAGE_BITS;
const PAGE_MASK = PAGE_ROWS - 1;
/** Rows of the first page at first; it grows. A store of a few runs takes 2 KiB and not 139. */
const FIRST_ROWS = 16;

export class RunTable {
  readonly #pages: Float64Array[] = [];
  /** Rows ever handed out; free ones among them are linked through `nextInObject`. */
  #rows = 0;
  #firstFree = NO_ROW;
  #count = 0;

  /** Live rows. */
  get count(): number {
    return this.#count;
  }

  /** A row of zeros. */
  allocate(): number {
    this.#count += 1;
    if (this.#firstFree !== NO_ROW) {
      const row = this.#firstFree;
      this.#firstFree = this.get(row, RUN.nextInObject);
      const page = this.#pages[row >>> PAGE_BITS] as Float64Array;
      page.fill(0, (row & PAGE_MASK) * COLUMNS, ((row & PAGE_MASK) + 1) * COLUMNS);
      return row;
    }
    this.#makeRoom();
    this.#rows += 1;
    return this.#rows - 1;
  }

  /** For one more row that was never handed out. */
  #makeRoom(): void {
    const index = this.#rows >>> PAGE_BITS;
    const page = this.#pages[index];
    const rows = this.#rows & PAGE_MASK;
    if (page !== undefined && rows * COLUMNS < page.length) return;
    const larger = new Float64Array(COLUMNS * (index > 0 ? PAGE_ROWS : Math.max(FIRST_ROWS, 4 * rows)));
    if (page !== undefined) larger.set(page);
    this.#pages[index] = larger;
  }

  /** Gives the row back; the caller has unlinked it everywhere. */
  free(row: number): void {
    assert(this.get(row, RUN.streamId) !== 0, 'a run row is freed once');
    this.set(row, RUN.streamId, 0);
    this.set(row, RUN.nextInObject, this.#firstFree);
    this.#firstFree = row;
    this.#count -= 1;
  }

  get(row: number, column: RunColumn): number {
    return (this.#pages[row >>> PAGE_BITS] as Float64Array)[(row & PAGE_MASK) * COLUMNS + column] as number;
  }

  set(row: number, column: RunColumn, value: number): void {
    (this.#pages[row >>> PAGE_BITS] as Float64Array)[(row & PAGE_MASK) * COLUMNS + column] = value;
  }
}

/** A row as a run. */
export function keptRunOf(runs: RunTable, row: number): KeptRun {
  return {
    streamId: small(runs.get(row, RUN.streamId)),
    firstOffset: small(runs.get(row, RUN.firstOffset)),
    nextOffset: small(runs.get(row, RUN.nextOffset)),
    records: small(runs.get(row, RUN.records)),
    userBytes: small(runs.get(row, RUN.userBytes)),
    trackingBytes: small(runs.get(row, RUN.trackingBytes)),
    firstTimestamp: small(runs.get(row, RUN.firstTimestamp)),
    lastTimestamp: small(runs.get(row, RUN.lastTimestamp)),
    epoch: small(runs.get(row, RUN.epoch)),
    byteOffset: small(runs.get(row, RUN.byteOffset)),
    byteLength: small(runs.get(row, RUN.byteLength)),
    chunks: small(runs.get(row, RUN.chunks)),
    trackingSnapshot: runs.get(row, RUN.snapshot) === 1,
  };
}
