/**
 * Reads one input object forward, window by window, with the next one under way before this one ends. Runs that are
 * larger than a window are read past it, straight into the hands of who streams them.
 */
import { assert, required } from '../base/assert.ts';
import { alignUp, PAGE_BYTES } from '../base/bytes.ts';
import { PageArena } from '../base/page-arena.ts';
import { isInPages } from '../base/page-memory.ts';
import { releaseMemory } from '../base/release-memory.ts';
import type { SegmentSource } from '../segment/source.ts';
import type { ByteRange, InputPlan, WindowsPlan } from './input-windows.ts';

/** Counts what the buffers of a job hold. */
export class BufferAccount {
  held = 0;
  peak = 0;
  readBytes = 0;
  reads = 0;

  add(bytes: number): void {
    this.held += bytes;
    this.peak = Math.max(this.peak, this.held);
    assert(this.held >= 0, 'no more is released than was held');
  }
}

/** Windows are read in whole pages, of which two may be shared with their neighbours; and one is for the rest. */
const PIECE_PAGES_BYTES: number = 3 * PAGE_BYTES;

/**
 * Memory of windows, shared by all inputs of a job: the pages, and how much may be on its way. All inputs that go on
 * from window to window take pieces of one size: between pieces of any size gaps remain in which nothing fits, and
 * windows then take memory beside these pages.
 */
export class WindowMemory extends PageArena {
  readonly #pieceBytes: number;
  #free: number;

  constructor({ inputs, aheadBytes }: WindowsPlan) {
    const piece = inputs.reduce((most, input) => (input.windows.length > 1 ? Math.max(most, widest(input)) : most), 0);
    const bytes = inputs.reduce((sum, input) => sum + pieceFor(input, piece), 0);
    // What is on its way are pieces as well, of which each has pages beyond its window.
    super(bytes + aheadBytes + PIECE_PAGES_BYTES * inputs.length);
    this.#pieceBytes = piece;
    this.#free = aheadBytes;
  }

  /** For any window of the input. */
  takeFor(input: InputPlan): Uint8Array {
    return this.take(pieceFor(input, this.#pieceBytes));
  }

  /** What was not of the pages is freed at once: nobody reads into it any more. */
  override giveBack(piece: Uint8Array): void {
    if (!isInPages(piece)) releaseMemory(piece);
    super.giveBack(piece);
  }

  /** Whether a window may be on its way beside those in use. */
  goAhead(): boolean {
    if (this.#pieceBytes > this.#free) return false;
    this.#free -= this.#pieceBytes;
    return true;
  }

  arrived(): void {
    this.#free += this.#pieceBytes;
  }
}

function widest({ windows }: InputPlan): number {
  return windows.reduce((most, { length }) => Math.max(most, length), 0);
}

/** An input that is read at once takes what it needs, once. */
function pieceFor(input: InputPlan, shared: number): number {
  const bytes = input.windows.length > 1 ? shared : widest(input);
  return bytes - (bytes % PAGE_BYTES) + PIECE_PAGES_BYTES;
}

export type ReadBytes = (position: number, length: number, into?: Uint8Array) => Promise<Uint8Array>;

interface Window {
  readonly index: number;
  readonly position: number;
  readonly bytes: Uint8Array;
  /** A piece of the job's windows: where the bytes lie, unless the object store has put them elsewhere. */
  readonly memory: Uint8Array;
}

interface ComingWindow {
  readonly index: number;
  readonly length: number;
  readonly bytes: Promise<Uint8Array>;
  readonly memory: Uint8Array;
  /** It was taken from the memory that all inputs share. */
  readonly ahead: boolean;
}

export interface InputSourceOptions {
  readonly size: number;
  readonly read: ReadBytes;
  readonly plan: InputPlan;
  readonly memory: WindowMemory;
  readonly account: BufferAccount;
}

export class InputSource implements SegmentSource {
  readonly size: number;
  readonly #options: InputSourceOptions;
  #window: Window | undefined;
  #coming: ComingWindow | undefined;

  constructor(options: InputSourceOptions) {
    this.#options = options;
    this.size = options.size;
  }

  /** Sends for the first window; for a start together with the other inputs. */
  begin(): void {
    const [first] = this.#options.plan.windows;
    if (first !== undefined && this.#window === undefined) this.#send(0, first, false);
  }

  /** Whether a run of this length lies in a window. */
  isWindowed(runBytes: number): boolean {
    return runBytes <= this.#options.plan.windowBytes;
  }

  /** Where a run of this length is read from. */
  sourceFor(runBytes: number): SegmentSource {
    return this.isWindowed(runBytes) ? this : { size: this.size, read: this.#options.read };
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    const index = this.#indexOf(position, length);
    const window = this.#window?.index === index ? this.#window : await this.#turnTo(index);
    this.#lookAhead(window, position + length);
    const at = position - window.position;
    return window.bytes.subarray(at, at + length);
  }

  /**
   * Everything up to `end` was used, and is not asked for again: a window that ends there makes room for the next one.
   * The next one is then on its way while the job reads from its other inputs, all of them at once.
   */
  done(end: number): void {
    const window = this.#window;
    if (window === undefined || end < window.position + window.bytes.length) return;
    const next = this.#options.plan.windows[window.index + 1];
    if (next === undefined) return;
    this.#setWindow(undefined);
    if (this.#coming === undefined) this.#send(window.index + 1, next, false);
    else this.#takeOver(this.#coming);
  }

  /** Gives back the buffers. */
  close(): void {
    this.#setWindow(undefined);
    this.#dropComing();
  }

  #indexOf(position: number, length: number): number {
    const { windows } = this.#options.plan;
    let low = 0;
    let high = windows.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((windows[middle] as ByteRange).position <= position) low = middle;
      else high = middle;
    }
    const found = windows[low];
    assert(
      found !== undefined && position >= found.position && position + length <= found.position + found.length,
      'runs lie in windows',
    );
    return low;
  }

  async #turnTo(index: number): Promise<Window> {
    const { position, length } = required(this.#options.plan.windows[index], 'a window of the plan');
    // This window is not needed any more: its memory is there for the next one.
    this.#setWindow(undefined);
    if (this.#coming?.index !== index) {
      this.#dropComing();
      this.#send(index, { position, length }, false);
    }
    const coming = required(this.#coming, 'it was sent for');
    const bytes = await coming.bytes;
    this.#forget(coming);
    const window = { index, position, bytes, memory: coming.memory };
    this.#setWindow(window);
    return window;
  }

  /** Sends for the next window when this one is nearly used up, as far as there is memory for it. */
  #lookAhead(window: Window, end: number): void {
    const { plan, memory } = this.#options;
    const next = plan.windows[window.index + 1];
    if (next === undefined || this.#coming !== undefined) return;
    const rest = window.position + window.bytes.length - end;
    if (rest > window.bytes.length / 2 || !memory.goAhead()) return;
    this.#send(window.index + 1, next, true);
  }

  /** Reads whole pages, into memory that begins with one: what stores need to go past the page cache. */
  #send(index: number, { position, length }: ByteRange, ahead: boolean): void {
    const { read, account, size, plan } = this.#options;
    const from = position - (position % PAGE_BYTES);
    const to = Math.min(size, alignUp(position + length, PAGE_BYTES));
    const memory = this.#options.memory.takeFor(plan);
    const bytes = read(from, to - from, memory.subarray(0, to - from)).then((pages) =>
      pages.subarray(position - from, position - from + length),
    );
    // A job that fails meanwhile never looks at it: its failure must not end the process.
    bytes.catch(() => undefined);
    account.add(length);
    this.#coming = { index, length, bytes, memory, ahead };
  }

  /** What was ahead is this input's own window now: others may look ahead instead. */
  #takeOver(coming: ComingWindow): void {
    if (!coming.ahead) return;
    this.#options.memory.arrived();
    this.#coming = { ...coming, ahead: false };
  }

  #setWindow(window: Window | undefined): void {
    const last = this.#window;
    this.#options.account.add((window?.bytes.length ?? 0) - (last?.bytes.length ?? 0));
    if (last !== undefined) this.#options.memory.giveBack(last.memory);
    this.#window = window;
  }

  #dropComing(): void {
    const coming = this.#coming;
    if (coming === undefined) return;
    this.#forget(coming);
    const giveBack = (): void => this.#options.memory.giveBack(coming.memory);
    // Until then the store may write to it.
    void coming.bytes.then(giveBack, giveBack);
  }

  #forget({ ahead, length }: ComingWindow): void {
    this.#options.account.add(-length);
    if (ahead) this.#options.memory.arrived();
    this.#coming = undefined;
  }
}
