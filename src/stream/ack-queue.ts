/**
 * Who waits for which block. Appends settle in log order, so three parallel arrays and a cursor do: a record costs
 * three pushes and no object of its own.
 */
import { assert } from '../base/assert.ts';

type Resolve = (offset: number) => void;
type Reject = (error: unknown) => void;

/** A published block: what waits for it, and how far the log reaches once it is durable. */
interface Mark {
  readonly nextBlock: number;
  readonly logEnd: number;
  /** Entries that the block, or one before it, carries. */
  readonly end: number;
}

/** Entries move to the front when so many before them are settled. */
const COMPACT_AT = 16_384;
/** Longer arrays are given back once few entries are left. */
const ROOM_KEPT = 4 * COMPACT_AT;

export class AckQueue {
  /** The arrays stay, with nothing behind `#end`: growing anew for each window was a tenth of what an append left. */
  #resolves: (Resolve | undefined)[] = [];
  #rejects: (Reject | undefined)[] = [];
  #offsets: number[] = [];
  #settled = 0;
  #end = 0;
  #marks: Mark[] = [];
  #firstMark = 0;

  /** Appends that wait. */
  get length(): number {
    return this.#end - this.#settled;
  }

  /** Adds an append whose last byte is in the block that is open now. */
  push(resolve: Resolve, reject: Reject, offset: number): void {
    const at = this.#end;
    this.#resolves[at] = resolve;
    this.#rejects[at] = reject;
    this.#offsets[at] = offset;
    this.#end = at + 1;
  }

  /** The open block was published: it carries all entries so far. */
  mark(nextBlock: number, logEnd: number): void {
    this.#marks.push({ nextBlock, logEnd, end: this.#end });
  }

  /** Whether a published block is not durable yet. */
  get hasMarks(): boolean {
    return this.#firstMark < this.#marks.length;
  }

  /**
   * Resolves every append in blocks before `nextBlock`. Returns the log position up to which the log is durable;
   * `undefined` when no published block became durable.
   */
  settle(nextBlock: number): number | undefined {
    let logEnd: number | undefined;
    let end = this.#settled;
    while (this.#firstMark < this.#marks.length) {
      const mark = this.#marks[this.#firstMark] as Mark;
      if (mark.nextBlock > nextBlock) break;
      logEnd = mark.logEnd;
      end = mark.end;
      this.#firstMark += 1;
    }
    const resolves = this.#resolves;
    const offsets = this.#offsets;
    for (let index = this.#settled; index < end; index += 1) (resolves[index] as Resolve)(offsets[index] as number);
    resolves.fill(undefined, this.#settled, end);
    this.#rejects.fill(undefined, this.#settled, end);
    this.#settled = end;
    this.#compact();
    return logEnd;
  }

  /** Rejects everything that waits. */
  rejectAll(error: unknown): void {
    const rejects = this.#rejects.slice(this.#settled, this.#end) as Reject[];
    this.#resolves = [];
    this.#rejects = [];
    this.#offsets = [];
    this.#marks = [];
    this.#settled = 0;
    this.#end = 0;
    this.#firstMark = 0;
    for (const reject of rejects) reject(error);
  }

  #compact(): void {
    const settled = this.#settled;
    if (settled < this.#end && settled < COMPACT_AT) return;
    const left = this.#end - settled;
    for (let index = 0; index < left; index += 1) {
      this.#resolves[index] = this.#resolves[settled + index];
      this.#rejects[index] = this.#rejects[settled + index];
      this.#offsets[index] = this.#offsets[settled + index] as number;
    }
    this.#resolves.fill(undefined, left, this.#end);
    this.#rejects.fill(undefined, left, this.#end);
    if (this.#resolves.length > ROOM_KEPT && 4 * left < this.#resolves.length) {
      for (const array of [this.#resolves, this.#rejects, this.#offsets]) array.length = left;
    }
    this.#end = left;
    this.#marks = this.#marks.slice(this.#firstMark).map((mark) => ({ ...mark, end: mark.end - settled }));
    this.#settled = 0;
    this.#firstMark = 0;
    assert(
      this.#marks.every((mark) => mark.end >= 0),
      'marks follow settled entries',
    );
  }
}
