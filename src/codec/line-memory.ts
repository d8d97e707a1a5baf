/**
 * Memory in which lines are cut and made records, without an object for any of them. It is the kernel's own, so that
 * what is read into it is not copied for the kernel's sake. Where the kernel cannot run, plain memory does as well.
 */
import { KERNEL_SLACK_BYTES, type LineKernel, startLineKernel } from '../../wasm/kernel.ts';
import { assert } from '../base/assert.ts';
import { alignUp } from '../base/bytes.ts';
import { MEMORY_PAGE_BYTES } from '../base/page-memory.ts';
import { FRAME_BYTES_TARGET } from '../limits/limits.ts';

const ALIGNMENT = 64;
const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
const RANGE_BYTES = 8;

/** Lines that lie in an input. */
export interface CutLines {
  readonly bytes: Buffer;
  /** As `LineMemory.cut` gives them. */
  readonly ranges: Uint32Array;
}

/** Where records are to lie in the end. */
export interface PackPlace {
  readonly at: number;
  /** Bytes that they may take there. */
  readonly room: number;
}

/** What `LineMemory.pack` has written. */
export interface Packed {
  readonly count: number;
  /** Bytes of the values. */
  readonly userBytes: number;
  /** The records, overwritten by the next call; they lie as `at` does to a multiple of 8. */
  readonly bytes: Uint8Array;
}

export class LineMemory {
  /** Areas of equal size that input is read into. */
  readonly inputs: readonly Buffer[];
  readonly #kernel: LineKernel | undefined;
  readonly #bytes: Buffer;
  readonly #result: Uint32Array;
  readonly #output: number;
  readonly #ranges: number;
  readonly #rangesMax: number;

  /** Memory is touched, and so taken, only as far as it is used. */
  constructor(kernel: LineKernel | undefined, inputs: number, inputBytes: number) {
    this.#kernel = kernel;
    this.#rangesMax = inputBytes;
    const base = kernel === undefined ? 0 : alignUp(kernel.__heap_base.value, ALIGNMENT);
    this.#output = base + ALIGNMENT;
    const first = this.#output + FRAME_BYTES_TARGET + KERNEL_SLACK_BYTES;
    const step = alignUp(inputBytes + KERNEL_SLACK_BYTES, ALIGNMENT);
    this.#ranges = first + inputs * step;
    const end = this.#ranges + inputBytes * RANGE_BYTES + KERNEL_SLACK_BYTES;
    kernel?.memory.grow(Math.ceil(Math.max(0, end - kernel.memory.buffer.byteLength) / MEMORY_PAGE_BYTES));
    this.#bytes = Buffer.from(kernel?.memory.buffer ?? new ArrayBuffer(end));
    this.#result = new Uint32Array(this.#bytes.buffer, base, 2);
    this.inputs = Array.from({ length: inputs }, (_, index) => {
      const at = first + index * step;
      return this.#bytes.subarray(at, at + inputBytes);
    });
  }

  /** Whether `bytes` lie here. */
  holds(bytes: ArrayBufferView): boolean {
    return bytes.buffer === this.#bytes.buffer;
  }

  /**
   * Finds the lines that end in `bytes`, which lie in an input. Of each, the result has where its first byte is, and
   * the one behind its last; with `trim` a carriage return in front of the newline is not part of it. The next call
   * overwrites the result.
   */
  cut(bytes: Buffer, trim: boolean): Uint32Array {
    assert(this.holds(bytes) && bytes.length <= this.#rangesMax, 'lines are cut from an input');
    if (this.#kernel === undefined) return this.#cut(bytes, trim);
    const count = this.#kernel.cut(bytes.byteOffset, bytes.length, trim ? 1 : 0, this.#ranges);
    return new Uint32Array(this.#bytes.buffer, this.#ranges, 2 * count);
  }

  /** Without the kernel. */
  #cut(bytes: Buffer, trim: boolean): Uint32Array {
    const ranges = new Uint32Array(this.#bytes.buffer, this.#ranges, 2 * this.#rangesMax);
    let [length, start] = [0, 0];
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      ranges[length] = start;
      ranges[length + 1] = trim && end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
      length += 2;
      start = end + 1;
    }
    return ranges.subarray(0, length);
  }

  /**
   * Makes lines of the last `cut` records without keys: as many, from line `index` on, as the place has room for.
   * `undefined` where there is no kernel.
   */
  pack({ bytes, ranges }: CutLines, index: number, timestampDelta: number, place: PackPlace): Packed | undefined {
    const kernel = this.#kernel;
    if (kernel === undefined) return undefined;
    assert(this.holds(ranges) && this.holds(bytes), 'ranges and bytes are those of the last cut');
    const output = this.#output + (place.at & 7);
    const limit = output + Math.min(place.room, FRAME_BYTES_TARGET);
    const first = ranges.byteOffset + index * RANGE_BYTES;
    const left = ranges.length / 2 - index;
    const result = this.#result;
    const count = kernel.pack(bytes.byteOffset, first, left, timestampDelta, output, limit, result.byteOffset);
    return { count, userBytes: result[1] as number, bytes: this.#bytes.subarray(output, result[0]) };
  }
}

/** `inputs` areas of `inputBytes` each, with the kernel where it can run. */
export function lineMemory(inputs: number, inputBytes: number): LineMemory {
  let kernel: LineKernel | undefined;
  try {
    kernel = startLineKernel();
  } catch {
    // Processors without vectors, and `--jitless`: the same from plain memory.
  }
  return new LineMemory(kernel, inputs, inputBytes);
}
