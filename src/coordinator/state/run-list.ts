/**
 * The run rows of one stream in offset order. Runs arrive at the end and leave at the front, both in amortised
 * constant time; a job replaces a stretch in the middle.
 */
import { assert } from '../../base/assert.ts';

const CAPACITY_MIN = 4;

export class RunList {
  #rows: Uint32Array = new Uint32Array(0);
  #head = 0;
  #length = 0;
  /** Places below held the same rows when `takeChanged` was last called. */
  #unchanged = 0;

  get length(): number {
    return this.#length;
  }

  /** Where the list begins in the array behind it: `at(index)` is at place `start + index`, until it is moved. */
  get start(): number {
    return this.#head;
  }

  /** The first place that has got another row, or a first one, since the last call. */
  takeChanged(): number {
    const changed = this.#unchanged;
    this.#unchanged = this.#head + this.#length;
    return changed;
  }

  at(index: number): number {
    assert(index >= 0 && index < this.#length, 'a run index is inside its list');
    return this.#rows[this.#head + index] as number;
  }

  push(row: number): void {
    if (this.#head + this.#length === this.#rows.length) this.#makeRoom(1);
    this.#rows[this.#head + this.#length] = row;
    this.#length += 1;
  }

  pop(): void {
    assert(this.#length > 0, 'an empty run list has no last run');
    this.#length -= 1;
    this.#changeFrom(this.#head + this.#length);
  }

  /** Removes the first `count` rows. */
  shift(count: number): void {
    assert(count <= this.#length, 'no more runs leave than there are');
    this.#head += count;
    this.#length -= count;
  }

  /** Replaces `count` rows from `index` on by `rows`. */
  replace(index: number, count: number, rows: readonly number[]): void {
    assert(index >= 0 && count >= 0 && index + count <= this.#length, 'a replaced stretch is inside its list');
    const growth = rows.length - count;
    if (growth > 0 && this.#head + this.#length + growth > this.#rows.length) this.#makeRoom(growth);
    const at = this.#head + index;
    this.#rows.copyWithin(at + rows.length, at + count, this.#head + this.#length);
    this.#rows.set(rows, at);
    this.#length += growth;
    this.#changeFrom(at);
  }

  #changeFrom(place: number): void {
    this.#unchanged = Math.min(this.#unchanged, place);
  }

  /** Moves the rows to the front, of a larger array when they fill more than half of this one. */
  #makeRoom(count: number): void {
    const needed = this.#length + count;
    const target = needed * 2 > this.#rows.length ? new Uint32Array(Math.max(CAPACITY_MIN, needed * 2)) : this.#rows;
    target.set(this.#rows.subarray(this.#head, this.#head + this.#length));
    this.#rows = target;
    this.#head = 0;
    this.#changeFrom(0);
  }
}
