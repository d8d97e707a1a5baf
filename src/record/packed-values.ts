/**
 * Values of records without keys, which lie in one piece of memory: no object, and no view, for each of them. A million
 * views a second, kept in arrays until their records are in the ring, are most of what the garbage collector has to do.
 */
import type { LineMemory } from '../codec/line-memory.ts';

export class PackedValues {
  /** What the ranges are of. */
  readonly bytes: Buffer;
  /** By twice the number of a value: where its first byte is, and the one behind its last. */
  readonly ranges: Uint32Array;
  /** Where both lie, until it is used for others; without one they stay. */
  readonly memory: LineMemory | undefined;

  constructor(bytes: Buffer, ranges: Uint32Array, memory?: LineMemory) {
    this.bytes = bytes;
    this.ranges = ranges;
    this.memory = memory;
  }

  /** How many. */
  get length(): number {
    return this.ranges.length / 2;
  }

  /** Bytes of all values. */
  get valueBytes(): number {
    const { ranges } = this;
    let bytes = 0;
    for (let at = 0; at < ranges.length; at += 2) bytes += (ranges[at + 1] as number) - (ranges[at] as number);
    return bytes;
  }

  /** A view of value `index`. */
  value(index: number): Buffer {
    return this.bytes.subarray(this.ranges[2 * index], this.ranges[2 * index + 1]);
  }

  /** Views of all. */
  values(): Buffer[] {
    return Array.from({ length: this.length }, (_, index) => this.value(index));
  }

  /** The same in memory that stays. */
  kept(): PackedValues {
    return this.memory === undefined ? this : new PackedValues(Buffer.from(this.bytes), this.ranges.slice());
  }
}
