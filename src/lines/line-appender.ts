/** Lines of a byte stream become records: cut, appended as they arrive, and bounded on the way. */
import type { LineMemory } from '../codec/line-memory.ts';
import type { PackedValues } from '../record/packed-values.ts';
import type { RecordInput } from '../record/record-input.ts';
import type { BoundedAppender } from './bounded-appender.ts';
import { LineCutter } from './line-cutter.ts';
import type { LineReader } from './line-reader.ts';

export interface LineOptions {
  /** Of a line, without what ends it. */
  readonly maxLineBytes: number;
  /** Of `\r\n` at the end of a line neither is part of it. Default: the carriage return is. */
  readonly trim?: boolean;
  /** Makes the records of lines. Default lines as they are, which takes a small part of the time. */
  readonly reader?: LineReader | undefined;
}

export class LineAppender {
  readonly #appender: BoundedAppender;
  readonly #cutter: LineCutter;
  readonly #reader: LineReader | undefined;

  /** Others may use the memory while a call waits. */
  constructor(memory: LineMemory, appender: BoundedAppender, { maxLineBytes, trim, reader }: LineOptions) {
    this.#appender = appender;
    this.#cutter = new LineCutter(memory, maxLineBytes, trim ?? false);
    this.#reader = reader;
  }

  /** Bytes that are kept of a line whose end has not arrived. */
  get pendingBytes(): number {
    return this.#cutter.pendingBytes;
  }

  /** Appends the lines that end in `chunk`, also those in front of one that is refused; resolves when it takes more. */
  async push(chunk: Buffer): Promise<void> {
    for (const lines of this.#cutter.cut(chunk)) await this.#append(lines);
  }

  /** Appends the last line, when no newline ended it. */
  async end(): Promise<void> {
    for (const lines of this.#cutter.end()) await this.#append(lines);
  }

  #append(lines: PackedValues): Promise<void> {
    const reader = this.#reader;
    if (reader === undefined) this.#appender.append(lines, lines.valueBytes);
    else this.#appendRecords(reader.views ? lines.kept() : lines, reader);
    return this.#appender.room();
  }

  #appendRecords(lines: PackedValues, reader: LineReader): void {
    const first = this.#cutter.lines - lines.length + 1;
    const records: RecordInput[] = [];
    let bytes = 0;
    try {
      for (let index = 0; index < lines.length; index += 1) {
        const line = lines.value(index);
        const record = reader.record(line, first + index);
        if (record === undefined) continue;
        records.push(record);
        bytes += line.length;
      }
    } finally {
      this.#appender.append(records, bytes);
    }
  }
}
