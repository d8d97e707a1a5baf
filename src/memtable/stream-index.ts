/**
 * Where one stream's unflushed frames lie: first offset -> log position, in order. Two parallel arrays instead of
 * objects: a busy stream adds a frame per append. They hold little more than the frames: there may be many streams.
 */
import { assert } from '../base/assert.ts';
import { SLOT_SPAN } from '../ring/geometry.ts';

/** Arrays are given back when they have room for more than this, and for four times the frames that are left. */
const ROOM_KEPT = 64;

export class StreamIndex {
  readonly streamId: number;
  /** The last filling that a frame was added in. */
  latestSlot = -1;
  #firstOffsets: number[] = [];
  #positions: number[] = [];
  /** The frames present lie from here to `#end`. What lies around them in the arrays is old, and overwritten. */
  #start = 0;
  #end = 0;
  /** Frames that a truncation cut: log position -> offset where they end. Few streams have any. */
  #cuts: Map<number, number> | undefined;

  constructor(streamId: number) {
    this.streamId = streamId;
  }

  /** Frames present. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Adds the stream's next frame. */
  add(firstOffset: number, position: number): void {
    const last = this.#end - 1;
    assert(last < this.#start || position > (this.#positions[last] as number), 'frames are added in log order');
    if (this.#end === this.#positions.length && 2 * this.#start > this.#end) this.#moveToFront();
    this.#firstOffsets[this.#end] = firstOffset;
    this.#positions[this.#end] = position;
    this.#end += 1;
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
    return this.#cuts?.get(this.position(index)) ?? Infinity;
  }

  /** The stream goes on at `nextOffset`: later frames are forgotten, one across it is cut. */
  truncate(nextOffset: number): void {
    while (this.length > 0 && this.firstOffset(this.length - 1) >= nextOffset) {
      this.#end -= 1;
      this.#cuts?.delete(this.#positions[this.#end] as number);
    }
    if (this.length === 0) return;
    const last = this.length - 1;
    const end = Math.min(nextOffset, this.cutAt(last));
    this.#cuts ??= new Map();
    this.#cuts.set(this.position(last), end);
  }

  /** Index of the last frame whose first offset is at or below `offset`; -1 when every frame begins above it. */
  floor(offset: number): number {
    let low = this.#start;
    let high = this.#end;
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
    let high = this.#end;
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
    if (this.#cuts !== undefined) {
      for (const position of this.#cuts.keys()) if (position < end) this.#cuts.delete(position);
    }
    this.#start += this.countBefore(end);
    const room = this.#positions.length;
    if (room <= ROOM_KEPT || room <= 4 * this.length) return;
    this.#firstOffsets = this.#firstOffsets.slice(this.#start, this.#end);
    this.#positions = this.#positions.slice(this.#start, this.#end);
    this.#end -= this.#start;
    this.#start = 0;
  }

  /** In place: of many streams with few frames each, new arrays would be much of what the collector has to do. */
  #moveToFront(): void {
    for (let from = this.#start; from < this.#end; from += 1) {
      this.#firstOffsets[from - this.#start] = this.#firstOffsets[from] as number;
      this.#positions[from - this.#start] = this.#positions[from] as number;
    }
    this.#end -= this.#start;
    this.#start = 0;
  }
}
