/**
 * Reads one input object forward, window by window, with the next one under way before this one ends. Runs that are
 * larger than a window are read past it, straight into the hands of who streams them.
 */
import { assert, required } from '../base/assert.ts';
import { SpareMemory } from '../base/spare-memory.ts';
import type { SegmentSource } from '../segment/source.ts';
import type { ByteRange, InputPlan } from './input-windows.ts';

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

/** Memory of windows, shared by all inputs of a job: what can be used again, and how much may be on its way. */
export class WindowMemory extends SpareMemory {
  #free: number;

  /** `ahead`: bytes of windows that may be on their way beside those in use. */
  constructor(ahead: number) {
    super();
    this.#free = ahead;
  }

  take(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  give(bytes: number): void {
    this.#free += bytes;
  }
}

export type ReadBytes = (position: number, length: number, into?: Uint8Array) => Promise<Uint8Array>;

interface Window {
  readonly index: number;
  readonly position: number;
  readonly bytes: Uint8Array;
}

interface ComingWindow {
  readonly index: number;
  readonly length: number;
  readonly bytes: Promise<Uint8Array>;
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
    const bytes = await required(this.#coming, 'it was sent for').bytes;
    this.#dropComing();
    const window = { index, position, bytes };
    this.#setWindow(window);
    return window;
  }

  /** Sends for the next window when this one is nearly used up, as far as there is memory for it. */
  #lookAhead(window: Window, end: number): void {
    const { plan, memory } = this.#options;
    const next = plan.windows[window.index + 1];
    if (next === undefined || this.#coming !== undefined) return;
    const rest = window.position + window.bytes.length - end;
    if (rest > window.bytes.length / 2 || !memory.take(next.length)) return;
    this.#send(window.index + 1, next, true);
  }

  #send(index: number, { position, length }: ByteRange, ahead: boolean): void {
    const { read, memory, plan } = this.#options;
    const bytes = read(position, length, memory.buffer(length, plan.whole ? length : plan.windowBytes));
    // A job that fails meanwhile never looks at it: its failure must not end the process.
    bytes.catch(() => undefined);
    this.#options.account.add(length);
    this.#coming = { index, length, bytes, ahead };
  }

  #setWindow(window: Window | undefined): void {
    const last = this.#window;
    this.#options.account.add((window?.bytes.length ?? 0) - (last?.bytes.length ?? 0));
    if (last !== undefined) this.#options.memory.recycle(last.bytes);
    this.#window = window;
  }

  #dropComing(): void {
    const coming = this.#coming;
    if (coming === undefined) return;
    this.#options.account.add(-coming.length);
    if (coming.ahead) this.#options.memory.give(coming.length);
    this.#coming = undefined;
  }
}
