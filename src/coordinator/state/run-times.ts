/**
 * Answers questions about the timestamps of a stream's runs without looking at every run: they are summed up block by
 * block, the first time that somebody asks.
 */
import type { RunList } from './run-list.ts';
import { RUN, type RunTable } from './run-table.ts';

export interface TimeSpan {
  /** `Infinity` and `-Infinity` without records. */
  readonly first: number;
  readonly last: number;
}

/** Places of a block: a stream of a million runs has two thousand blocks of as many bytes as one run. */
const BLOCK_PLACES = 512;

export class RunTimes {
  readonly #runs: RunTable;
  readonly #list: RunList;
  /** Of whole blocks, by their number. Places in front of the list may count, for whoever asks begins inside of it. */
  readonly #firsts: number[] = [];
  readonly #lasts: number[] = [];

  constructor(runs: RunTable, list: RunList) {
    this.#runs = runs;
    this.#list = list;
  }

  /** Index of the first run from `from` on with a record at `timestamp` or later, as far as its summary says; or -1. */
  find(from: number, timestamp: number): number {
    const { start, length } = this.#list;
    // However early: a run without records has nothing that could be found.
    const wanted = Math.max(timestamp, -Number.MAX_VALUE);
    this.#refresh();
    for (let index = from; index < length;) {
      const block = this.#blockAt(start + index);
      if (block === undefined || (this.#lasts[block] as number) >= wanted) {
        if (this.#spanOf(index).last >= wanted) return index;
        index += 1;
      } else {
        index += BLOCK_PLACES;
      }
    }
    return -1;
  }

  /** The timestamps of all runs from `from` on. */
  span(from: number): TimeSpan {
    const { start, length } = this.#list;
    this.#refresh();
    let first = Infinity;
    let last = -Infinity;
    for (let index = from; index < length;) {
      const block = this.#blockAt(start + index);
      const span = block === undefined ? this.#spanOf(index) : this.#spanOfBlock(block);
      first = Math.min(first, span.first);
      last = Math.max(last, span.last);
      index += block === undefined ? 1 : BLOCK_PLACES;
    }
    return { first, last };
  }

  /** The block that begins at a place and is summed up. */
  #blockAt(place: number): number | undefined {
    const block = place / BLOCK_PLACES;
    return Number.isInteger(block) && block < this.#lasts.length ? block : undefined;
  }

  #refresh(): void {
    const { start, length } = this.#list;
    const unchanged = Math.floor(this.#list.takeChanged() / BLOCK_PLACES);
    const whole = Math.floor((start + length) / BLOCK_PLACES);
    this.#firsts.length = Math.min(this.#firsts.length, unchanged);
    this.#lasts.length = this.#firsts.length;
    while (this.#lasts.length < whole) {
      const place = this.#lasts.length * BLOCK_PLACES;
      let first = Infinity;
      let last = -Infinity;
      // Rows in front of the list are not its own any more, and nobody asks for them.
      for (let at = Math.max(place, start); at < place + BLOCK_PLACES; at += 1) {
        const span = this.#spanOf(at - start);
        first = Math.min(first, span.first);
        last = Math.max(last, span.last);
      }
      this.#firsts.push(first);
      this.#lasts.push(last);
    }
  }

  #spanOfBlock(block: number): TimeSpan {
    return { first: this.#firsts[block] as number, last: this.#lasts[block] as number };
  }

  #spanOf(index: number): TimeSpan {
    const row = this.#list.at(index);
    if (this.#runs.get(row, RUN.records) === 0) return { first: Infinity, last: -Infinity };
    return { first: this.#runs.get(row, RUN.firstTimestamp), last: this.#runs.get(row, RUN.lastTimestamp) };
  }
}
