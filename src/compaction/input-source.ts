/**
 * Reads one input object forward. Small runs are cut out of a window that holds a part of the object, with the next
 * part under way: an object with thousands of runs costs as few requests as one with a single run. Large runs are read
 * past the window, straight into the hands of who streams them.
 */
import { assert } from '../base/assert.ts';
import type { SegmentSource } from '../segment/source.ts';

/** Memory of the windows of all inputs together. */
export const WINDOWS_BYTES: number = 16 * 1024 * 1024;
/** One request of a run that is read past the window; twice as much is in memory. */
export const RUN_READ_BYTES: number = 4 * 1024 * 1024;
const WINDOW_BYTES_MAX: number = 1024 * 1024;
const WINDOW_BYTES_MIN: number = 32 * 1024;
/** A window, the next one, and what is carried over from one to the other. */
const WINDOWS_PER_INPUT = 3;
/** A smaller gap of dead bytes is cheaper to read than to skip. */
const GAP_BYTES = 64 * 1024;

/** Counts what the buffers of a job hold. */
export class BufferAccount {
  held = 0;
  peak = 0;
  readBytes = 0;

  add(bytes: number): void {
    this.held += bytes;
    this.peak = Math.max(this.peak, this.held);
    assert(this.held >= 0, 'no more is released than was held');
  }
}

export interface ByteRange {
  readonly position: number;
  readonly length: number;
}

type ReadBytes = (position: number, length: number) => Promise<Uint8Array>;

interface Window {
  readonly position: number;
  readonly bytes: Uint8Array;
}

export function windowBytesFor(inputs: number): number {
  const share = Math.floor(WINDOWS_BYTES / WINDOWS_PER_INPUT / Math.max(1, inputs));
  return Math.min(WINDOW_BYTES_MAX, Math.max(WINDOW_BYTES_MIN, share));
}

/** Joins ranges, ascending and disjoint, across gaps too small to be skipped. */
export function joinRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const joined: ByteRange[] = [];
  for (const { position, length } of ranges) {
    const last = joined.at(-1);
    if (last !== undefined && position - (last.position + last.length) <= GAP_BYTES) {
      joined[joined.length - 1] = { position: last.position, length: position + length - last.position };
    } else {
      joined.push({ position, length });
    }
  }
  return joined;
}

export class InputSource implements SegmentSource {
  readonly size: number;
  readonly #read: ReadBytes;
  readonly #account: BufferAccount;
  readonly #windowBytes: number;
  /** Bytes that will be wanted, ascending. */
  readonly #ranges: readonly ByteRange[];
  #window: Window | undefined;
  #next: { readonly position: number; readonly length: number; readonly bytes: Promise<Uint8Array> } | undefined;

  /** `live` are all runs that will be read, by position. */
  constructor(size: number, read: ReadBytes, live: readonly ByteRange[], windowBytes: number, account: BufferAccount) {
    this.size = size;
    this.#read = read;
    this.#account = account;
    this.#windowBytes = windowBytes;
    this.#ranges = joinRanges(live.filter(({ length }) => this.#isSmall(length)));
  }

  /** Where a run of this length is read from. */
  sourceFor(runBytes: number): SegmentSource {
    if (this.#isSmall(runBytes)) return this;
    return { size: this.size, read: this.#read };
  }

  #isSmall(runBytes: number): boolean {
    return runBytes <= this.#windowBytes / 2;
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    assert(this.#isSmall(length), 'a large run is read past the window');
    let window = this.#window;
    if (window === undefined || position < window.position) window = await this.#open(position, length);
    if (position + length > window.position + window.bytes.length)
      window = await this.#advance(window, position, length);
    const at = position - window.position;
    return window.bytes.subarray(at, at + length);
  }

  /** Gives back the buffers. */
  close(): void {
    this.#setWindow(undefined);
    this.#dropNext();
  }

  async #open(position: number, length: number): Promise<Window> {
    this.#dropNext();
    this.#setWindow(undefined);
    const bytes = await this.#read(position, Math.max(length, this.#reach(position)));
    const window = { position, bytes };
    this.#setWindow(window);
    this.#prefetch(position + bytes.length);
    return window;
  }

  /** Moves on to a window that holds [`position`, `position + length`), which ends behind this one. */
  async #advance(window: Window, position: number, length: number): Promise<Window> {
    const end = window.position + window.bytes.length;
    const next = this.#next;
    const wanted = Math.max(position, end);
    const covered = next !== undefined && wanted >= next.position && position + length <= next.position + next.length;
    if (!covered || (position < end && next.position !== end)) return this.#open(position, length);
    const fresh = await next.bytes;
    const carried = position < end ? window.bytes.subarray(position - window.position) : new Uint8Array(0);
    const bytes = carried.length === 0 ? fresh : Buffer.concat([carried, fresh]);
    const moved = { position: next.position - carried.length, bytes };
    this.#next = undefined;
    this.#account.add(-next.length);
    this.#setWindow(moved);
    this.#prefetch(moved.position + bytes.length);
    return moved;
  }

  #prefetch(from: number): void {
    const range = this.#ranges.find(({ position, length }) => position + length > from);
    if (range === undefined) return;
    const position = Math.max(from, range.position);
    const length = this.#reach(position);
    const bytes = this.#read(position, length);
    // A job that fails meanwhile never looks at it: its failure must not end the process.
    bytes.catch(() => undefined);
    this.#account.add(length);
    this.#next = { position, length, bytes };
  }

  /** Bytes of a window that begins at `position`: it ends with the range, where the gap behind is worth a skip. */
  #reach(position: number): number {
    const range = this.#ranges.find((candidate) => candidate.position + candidate.length > position);
    const end = range === undefined || range.position > position ? position : range.position + range.length;
    return Math.min(this.#windowBytes, end - position);
  }

  #setWindow(window: Window | undefined): void {
    this.#account.add((window?.bytes.length ?? 0) - (this.#window?.bytes.length ?? 0));
    this.#window = window;
  }

  #dropNext(): void {
    if (this.#next === undefined) return;
    this.#account.add(-this.#next.length);
    this.#next = undefined;
  }
}
