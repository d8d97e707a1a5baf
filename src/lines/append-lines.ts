/** Lines of a byte stream become records: cut, appended in batches as they arrive, and bounded on the way. */
import { RECORD_BYTES_DEFAULT } from '../limits/limits.ts';
import type { RecordInput } from '../record/record-input.ts';
import type { BoundedAppender } from './bounded-appender.ts';
import { LineSplitter, type LineVisitor } from './line-splitter.ts';

export interface LineOptions {
  /** The record of a line, whose number counts from 1. Default the line as it is. */
  readonly recordOf?: (line: Buffer, number: number) => RecordInput;
  /** Called with the bytes read so far. */
  readonly progress?: (doneBytes: number) => void;
  /** Once it is aborted, a last line without an end is no record. */
  readonly signal?: AbortSignal;
}

/** Resolves when every line is durable. */
export async function appendAllLines(
  chunks: AsyncIterable<Buffer>,
  appender: BoundedAppender,
  { recordOf = (line) => line, progress, signal }: LineOptions = {},
): Promise<void> {
  const splitter = new LineSplitter(RECORD_BYTES_DEFAULT);
  const toRecord = (line: Buffer): RecordInput => recordOf(line, splitter.lines);
  let doneBytes = 0;
  for await (const chunk of chunks) {
    await appendLines(appender, toRecord, (visit) => {
      splitter.push(chunk, visit);
    });
    doneBytes += chunk.length;
    progress?.(doneBytes);
  }
  if (signal?.aborted !== true) {
    await appendLines(appender, toRecord, (visit) => {
      splitter.end(visit);
    });
  }
  await appender.finish();
}

/** Appends the lines that `deliver` gives, also those in front of one that it fails at. */
async function appendLines(
  appender: BoundedAppender,
  recordOf: (line: Buffer) => RecordInput,
  deliver: (visit: LineVisitor) => void,
): Promise<void> {
  const records: RecordInput[] = [];
  let size = 0;
  let failure: { readonly error: unknown } | undefined;
  try {
    deliver((line) => {
      records.push(recordOf(line));
      size += line.length;
    });
  } catch (error) {
    failure = { error };
  }
  await appender.append(records, size);
  if (failure !== undefined) throw failure.error;
}
