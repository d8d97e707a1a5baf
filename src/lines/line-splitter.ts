/** Cuts a byte stream into lines without making a string of any of them. */
import { MillraceError } from '../errors/millrace-error.ts';
import { ByteCollector } from './byte-collector.ts';

const NEWLINE = 10;

/** Takes a line. What it throws ends the splitting; the lines before it were delivered. */
export type LineVisitor = (line: Buffer) => void;

/**
 * A line ends at `\n`, which is not part of it; anything else is, `\r` too. Lines are views of the chunks that were
 * pushed, except those that lie across two of them; what is kept for later is copied.
 */
export class LineSplitter {
  readonly #maxLineBytes: number;
  /** The beginning of a line whose end has not arrived. */
  readonly #pending: ByteCollector = new ByteCollector();
  #lines = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** Lines that ended so far, the one being delivered included. */
  get lines(): number {
    return this.#lines;
  }

  /** Bytes that are kept of a line whose end has not arrived. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  /** Takes the next chunk and delivers the lines that end in it. Throws `ERR_MILLRACE_RECORD_TOO_LARGE`. */
  push(chunk: Buffer, visit: LineVisitor): void {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      visit(this.#complete(chunk.subarray(from, end)));
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
  }

  /** Delivers the last line, when no `\n` ended it. */
  end(visit: LineVisitor): void {
    if (this.#pending.length > 0) visit(this.#complete(Buffer.alloc(0)));
  }

  #complete(rest: Buffer): Buffer {
    this.#check(this.#pending.length + rest.length);
    this.#lines += 1;
    if (this.#pending.length === 0) return rest;
    this.#pending.push(rest);
    return this.#pending.take();
  }

  #keep(part: Buffer): void {
    // Before the end arrives: input without any newline must not fill the memory.
    this.#check(this.#pending.length + part.length);
    this.#pending.push(part);
  }

  #check(lineBytes: number): void {
    if (lineBytes <= this.#maxLineBytes) return;
    throw new MillraceError(
      'ERR_MILLRACE_RECORD_TOO_LARGE',
      `line ${this.#lines + 1} has more than ${this.#maxLineBytes} bytes: a record is one line, ended by a newline`,
      { details: { line: this.#lines + 1, maxBytes: this.#maxLineBytes } },
    );
  }
}
