/** Cuts a byte stream into lines without making an object of any of them. */
import { assert } from '../base/assert.ts';
import type { LineMemory } from '../codec/line-memory.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { PackedValues } from '../record/packed-values.ts';
import { ByteCollector } from './byte-collector.ts';

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

/** A line ends at `\n`, which is not part of it; anything else is, `\r` too unless `trim` is set. */
export class LineCutter {
  readonly #memory: LineMemory;
  readonly #maxLineBytes: number;
  readonly #trim: boolean;
  /** The beginning of a line whose end has not arrived. */
  readonly #pending: ByteCollector = new ByteCollector();
  #lines = 0;

  /** `trim`: of `\r\n` at the end of a line neither is part of it. */
  constructor(memory: LineMemory, maxLineBytes: number, trim: boolean) {
    this.#memory = memory;
    this.#maxLineBytes = maxLineBytes;
    this.#trim = trim;
  }

  /** Lines delivered so far. */
  get lines(): number {
    return this.#lines;
  }

  /** Bytes that are kept of a line whose end has not arrived. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  /**
   * The lines that end in the next chunk. They are used before anybody else uses the memory, or kept with
   * `lines.kept()`. Throws `ERR_MILLRACE_RECORD_TOO_LARGE` behind the lines in front of one that is too long.
   */
  *cut(chunk: Buffer): Generator<PackedValues, void> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#pending.length > 0) {
        const end = rest.indexOf(NEWLINE);
        this.#keep(end < 0 ? rest : rest.subarray(0, end));
        if (end < 0) return;
        yield this.#completed();
        rest = rest.subarray(end + 1);
        continue;
      }
      const piece = this.#inMemory(rest);
      const ranges = this.#memory.cut(piece, this.#trim);
      const tooLong = piece.length > this.#maxLineBytes ? this.#firstTooLong(ranges) : -1;
      const good = tooLong < 0 ? ranges : ranges.subarray(0, 2 * tooLong);
      const end = piece.lastIndexOf(NEWLINE) + 1;
      if (good.length > 0) yield this.#counted(new PackedValues(piece, good, this.#memory));
      if (tooLong >= 0) throw this.#lineTooLong();
      // Of the chunk: the piece may have been overwritten meanwhile.
      if (end < piece.length) this.#keep(rest.subarray(end, piece.length));
      rest = rest.subarray(piece.length);
    }
  }

  /** The last line, when no `\n` ended it. */
  *end(): Generator<PackedValues, void> {
    if (this.#pending.length > 0) yield this.#completed();
  }

  /** The line that is pending. */
  #completed(): PackedValues {
    const line = this.#pending.take();
    const end = this.#trim && line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length;
    return this.#counted(new PackedValues(line, Uint32Array.of(0, end)));
  }

  /** As much of `bytes` as the memory takes at once, in it. */
  #inMemory(bytes: Buffer): Buffer {
    if (this.#memory.holds(bytes)) return bytes;
    const [scratch] = this.#memory.inputs;
    assert(scratch !== undefined, 'there is memory for chunks that lie elsewhere');
    const length = bytes.copy(scratch);
    return scratch.subarray(0, length);
  }

  #counted(lines: PackedValues): PackedValues {
    this.#lines += lines.length;
    return lines;
  }

  /** -1 when there is none. */
  #firstTooLong(ranges: Uint32Array): number {
    for (let index = 0; 2 * index < ranges.length; index += 1) {
      if ((ranges[2 * index + 1] as number) - (ranges[2 * index] as number) > this.#maxLineBytes) return index;
    }
    return -1;
  }

  #keep(part: Buffer): void {
    // Before the end arrives: input without any newline must not fill the memory.
    if (this.#pending.length + part.length > this.#maxLineBytes) throw this.#lineTooLong();
    this.#pending.push(part);
  }

  #lineTooLong(): MillraceError {
    const line = this.#lines + 1;
    return new MillraceError(
      'ERR_MILLRACE_RECORD_TOO_LARGE',
      `line ${line} has more than ${this.#maxLineBytes} bytes: a record is one line, ended by a newline`,
      { details: { line, maxBytes: this.#maxLineBytes } },
    );
  }
}
