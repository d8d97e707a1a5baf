/** `millrace ingest`: lines on standard input become records. */
import { fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { Command } from 'commander';
import { assert } from '../base/assert.ts';
import { type LineMemory, lineMemory } from '../codec/line-memory.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { KIB, RECORD_BYTES_DEFAULT } from '../limits/limits.ts';
import { BoundedAppender, type Kept } from '../lines/bounded-appender.ts';
import { fileInput } from './file-input.ts';
import { LineAppender } from '../lines/line-appender.ts';
import { lineReader } from '../lines/line-reader.ts';
import { open } from './engine.ts';
import type { Store } from '../store/store.ts';
import type { Stream } from '../stream/stream.ts';
import { parseDirectory, parseStreamName } from './arguments.ts';
import { examples } from './help.ts';
import { withoutByteOrderMark } from './input-text.ts';
import { interruptible } from './interruption.ts';
import { note, print, printJson } from './output.ts';
import { objectsGiven, objectsOption } from './place.ts';
import { startProgress } from './progress.ts';
import { type StreamSettings, streamOptionsOf, withStreamSettings } from './stream-settings.ts';
import { bytes, counted } from './text.ts';

interface IngestOptions extends StreamSettings {
  readonly keyField?: string;
  readonly crlf?: true;
  readonly json?: true;
  readonly objects?: string;
}

/** What one read of a pipe gives. */
const PIPE_BYTES: number = 64 * KIB;
const STDIN = 0;

export function ingestCommand(): Command {
  const command = new Command('ingest')
    .summary('append the lines of standard input to a stream')
    .description(
      'Appends the lines of standard input to a stream, one record a line, durably. Makes the store and the ' +
        'stream when they do not exist. A byte order mark at the start is skipped; of \\r\\n the \\r stays in the ' +
        'record, but for --crlf. Ctrl-C ends it cleanly: what was read so far is kept and counted.',
    )
    .argument('<dir>', 'directory of the store', parseDirectory)
    .argument('<stream>', 'name of the stream', parseStreamName)
    .option('--key-field <name>', 'lines are JSON objects: take the key from this field, which is not nested')
    .option('--crlf', 'lines end with \\r\\n or \\n: keep neither');
  return withStreamSettings(command)
    .addOption(objectsOption())
    .option('--json', 'print the summary as a JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace ingest ./data access < access.log',
        'tail -F app.ndjson | millrace ingest ./data events --key-field userId',
        'zcat old/*.gz | millrace ingest ./data archive --json',
      ),
    )
    .action((dir: string, stream: string, options: IngestOptions) =>
      interruptible((signal) => ingest(dir, stream, options, signal)),
    );
}

async function ingest(dir: string, name: string, options: IngestOptions, signal: AbortSignal): Promise<void> {
  refuseDirectory();
  const store = await open({ dir, ...(await objectsGiven(options.objects)) });
  let result: { kept: Kept; next: number; failure: Error | undefined } | undefined;
  try {
    let stream = await streamOf(store, name, options, false);
    // A new one is made for the first line that is good.
    const appender = new BoundedAppender(async () => {
      stream ??= await streamOf(store, name, options, true);
      assert(stream !== undefined, 'the stream was made');
      return stream;
    });
    const failure = await attempt(() => appendInput(appender, options, signal));
    // Also after a failure: what is still on the way may become durable, and is counted then.
    await appender.settled();
    const info = await stream?.info();
    result = { kept: appender.kept, next: info?.durableOffset ?? 0, failure };
  } finally {
    await store.close();
  }
  const failure = result.failure ?? interruption(signal);
  await printSummary(name, result.kept, result.next, failure === undefined, options.json === true);
  if (failure !== undefined) throw failure;
}

/** The stream with its settings; unless `make`, `undefined` when there is none. */
async function streamOf(
  store: Store,
  name: string,
  settings: StreamSettings,
  make: boolean,
): Promise<Stream | undefined> {
  const known = (await store.streams()).find((stream) => stream.name === name);
  if (known === undefined && !make) return undefined;
  return store.stream(name, streamOptionsOf(settings, known?.config));
}

async function appendInput(
  appender: BoundedAppender,
  { keyField, crlf }: IngestOptions,
  signal: AbortSignal,
): Promise<void> {
  const { memory, chunks, totalBytes } = openInput(signal);
  const lines = new LineAppender(memory, appender, {
    maxLineBytes: RECORD_BYTES_DEFAULT,
    trim: crlf === true,
    reader: lineReader('lines', keyField),
  });
  const progress = startProgress('ingest', totalBytes);
  let doneBytes = 0;
  try {
    for await (const chunk of withoutByteOrderMark(chunks)) {
      await lines.push(chunk);
      doneBytes += chunk.length;
      progress.update(doneBytes, `${counted(appender.kept.records, 'record')} durable`);
    }
    // Of a line that the user cut off, nobody knows whether it was whole.
    if (!signal.aborted) await lines.end();
    await appender.finish();
  } finally {
    progress.end();
  }
}

interface Input {
  readonly memory: LineMemory;
  readonly chunks: AsyncIterable<Buffer>;
  /** Of a file. */
  readonly totalBytes: number | undefined;
}

/** A directory reads as an input that is empty. */
function refuseDirectory(): void {
  if (!fstatSync(STDIN).isDirectory()) return;
  throw new MillraceError(
    'ERR_MILLRACE_INVALID_ARGUMENT',
    'standard input is a directory (EISDIR): give a file or a pipe, as in `millrace ingest ./data access < access.log`',
  );
}

function openInput(signal: AbortSignal): Input {
  if (process.stdin.isTTY) note('reading lines from the terminal; Ctrl-D ends the input', false);
  const stat = fstatSync(STDIN);
  if (stat.isFile()) return { ...fileInput(STDIN, signal), totalBytes: stat.size };
  return { memory: lineMemory(1, PIPE_BYTES), chunks: chunksOf(process.stdin, signal), totalBytes: undefined };
}

/** Ends without an error when the user asks to stop. */
async function* chunksOf(input: Readable, signal: AbortSignal): AsyncGenerator<Buffer> {
  const stop = (): void => {
    input.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    yield* input as AsyncIterable<Buffer>;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    input.destroy();
  }
}

async function attempt(work: () => Promise<void>): Promise<Error | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function interruption(signal: AbortSignal): MillraceError | undefined {
  if (!signal.aborted) return undefined;
  const message = `${String(signal.reason)} ended the ingest before the input did: the records counted are kept`;
  return new MillraceError('ERR_MILLRACE_ABORTED', message);
}

async function printSummary(name: string, kept: Kept, next: number, complete: boolean, json: boolean): Promise<void> {
  const { firstOffset = next, nextOffset = next, records } = kept;
  if (json) {
    await printJson({ stream: name, records, bytes: kept.bytes, firstOffset, nextOffset, complete });
    return;
  }
  const offsets = records === 0 ? `the next offset is ${next}` : `offsets ${firstOffset} to ${nextOffset - 1}`;
  await print(`${counted(records, 'record')} (${bytes(kept.bytes)}) kept in ${name}: ${offsets}\n`);
}
