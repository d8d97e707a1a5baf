/**
 * Where one stream's unflushed frames lie: first offset -> log position, in order. Two parallel arrays instead of
 * objects: a busy stream adds a frame per append.
 */
import { assert } from '../base/assert.ts';
import { SLOT_SPAN } from '../ring/geometry.ts';

/** Dropping entries from the front only moves a cursor until this many are dead. */
const COMPACT_AT = 1024;

export class StreamIndex {
  #firstOffsets: number[] = [];
  #positions: number[] = [];
  #start = 0;
  /** Frames that a truncation cut: log position -> offset where they end. */
  readonly #cuts = new Map<number, number>();
  /** The last filling that a frame was added in. */
  latestSlot = -1;

  /** Frames present. */
  get length(): number {
    return this.#positions.length - this.#start;
  }

  /** Adds the stream's next frame. */
  add(firstOffset: number, position: number): void {
    const last = this.#positions.length - 1;
    assert(last < this.#start || position > (this.#positions[last] as number), 'frames are added in log order');
    this.#firstOffsets.push(firstOffset);
    this.#positions.push(position);
  }

  /** Log position of frame `index`. */
  position(index: number): number {
    assert(index >= 0 && index < this.length, 'frame index out of range');
    return this.#positions[this.#start + index] as number;
  }

  /** First offset of frame `index`. */
  firstOffset(index: number): number {
    assert(index >= 0 && index < this.length, 'frame index out of range');
    return this.#firstOffsets[this.#start + index] as number;
  }

  /** Offset where frame `index` was cut; `Infinity` when it is whole. */
  cutAt(index: number): number {
    return this.#cuts.size === 0 ? Infinity : (this.#cuts.get(this.position(index)) ?? Infinity);
  }

  /** The stream goes on at `nextOffset`: later frames are forgotten, one across it is cut. */
  truncate(nextOffset: number): void {
    while (this.length > 0 && this.firstOffset(this.length - 1) >= nextOffset) {
      this.#cuts.delete(this.#positions.pop() as number);
      this.#firstOffsets.pop();
    }
    if (this.length === 0) return;
    const last = this.length - 1;
    this.#cuts.set(this.position(last), Math.min(nextOffset, this.cutAt(last)));
  }

  /** Index of the last frame whose first offset is at or below `offset`; -1 when every frame begins above it. */
  floor(offset: number): number {
    let low = this.#start;
    let high = this.#positions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#firstOffsets[middle] as number) <= offset) low = middle + 1;
      else high = middle;
    }
    return low - 1 - this.#start;
  }

  /** Number of frames that begin before log position `end`. */
  countBefore(end: number): number {
    let low = this.#start;
    let high = this.#positions.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#positions[middle] as number) < end) low = middle + 1;
      else high = middle;
    }
    return low - this.#start;
  }

  /** Forgets the frames of all fillings up to `slotSequence`. */
  dropThrough(slotSequence: number): void {
    const end = (slotSequence + 1) * SLOT_SPAN;
    for (const position of this.#cuts.keys()) if (position < end) this.#cuts.delete(position);
    this.#start += this.countBefore(end);
    if (this.#start < COMPACT_AT && this.#start < this.#positions.length) return;
    this.#firstOffsets = this.#firstOffsets.slice(this.#start);
    this.#positions = this.#positions.slice(this.#start);
    this.#start = 0;
  }
}
