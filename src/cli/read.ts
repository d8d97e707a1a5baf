/** `millrace read`: records on standard output. */
import { Command } from 'commander';
import { isMillraceError } from '../errors/millrace-error.ts';
import { jsonLinesOf, valueLinesOf } from '../lines/record-lines.ts';
import type { Store } from '../store/store.ts';
import type { ReadFrom, ReadOptions } from '../stream/read-options.ts';
import { parseDirectory, parseFrom, parseLimit, parseStreamName } from './arguments.ts';
import { examples } from './help.ts';
import { interruptible } from './interruption.ts';
import { note, print } from './output.ts';
import { objectsOption, openPlace } from './place.ts';
import { unflushedNote } from './unflushed-note.ts';

interface ReadCommandOptions {
  readonly from: ReadFrom;
  readonly limit?: number;
  readonly follow?: true;
  readonly objects?: string;
  readonly json?: true;
}

/** Timers are what keeps a process alive that waits for another one's records. */
const KEEP_ALIVE_INTERVAL = 60_000;

export function readCommand(): Command {
  return new Command('read')
    .summary('print the records of a stream')
    .description(
      'Prints the records of a stream, one value a line, as the bytes that were written. Values that may hold ' +
        'newlines need --json. Works while another process has the store open, on what is in segments.',
    )
    .argument('<dir>', 'directory of the store', parseDirectory)
    .argument('<stream>', 'name of the stream', parseStreamName)
    .option('--from <place>', 'first, last, next, an offset, or @time: milliseconds or a date', parseFrom, 'first')
    .option('--limit <count>', 'stop after this many records', parseLimit)
    .option(
      '--follow',
      'wait for more at the end, until Ctrl-C; what another process appends shows when it is in segments, ' +
        'up to 10 seconds later',
    )
    .addOption(objectsOption())
    .option('--json', 'print an object a line: offset, timestamp, key, value (text, or {"base64"})')
    .addHelpText(
      'after',
      examples(
        'millrace read ./data access --limit 10',
        'millrace read ./data events --from @2026-01-31T12:00:00Z --json',
        'millrace read ./data events --from next --follow',
      ),
    )
    .action((dir: string, stream: string, options: ReadCommandOptions) => read(dir, stream, options));
}

async function read(dir: string, name: string, options: ReadCommandOptions): Promise<void> {
  const { objects } = options;
  const store = await openPlace({ dir, ...(objects === undefined ? {} : { objects }) }, true);
  try {
    if (options.follow === true) await interruptible((signal) => follow(store, dir, name, options, signal));
    else await readToEnd(store, dir, name, options);
  } finally {
    await store.close();
  }
}

async function readToEnd(store: Store, dir: string, name: string, options: ReadCommandOptions): Promise<void> {
  const records = await printRecords(store, name, options, {});
  if (options.limit !== undefined && records >= options.limit) return;
  const text = await unflushedNote(dir, name);
  if (text !== undefined) note(text, options.json === true);
}

async function follow(
  store: Store,
  dir: string,
  name: string,
  options: ReadCommandOptions,
  signal: AbortSignal,
): Promise<void> {
  // Who follows waits for what is in the log only, and should know for what.
  const text = await unflushedNote(dir, name);
  if (text !== undefined) note(text, options.json === true);
  const keepAlive = setInterval(() => undefined, KEEP_ALIVE_INTERVAL);
  try {
    await printRecords(store, name, options, { follow: true, signal });
  } catch (error) {
    // Ctrl-C is how following ends.
    if (!isMillraceError(error, 'ERR_MILLRACE_ABORTED')) throw error;
  } finally {
    clearInterval(keepAlive);
  }
}

/** Returns how many records were printed. */
async function printRecords(
  store: Store,
  name: string,
  { from, limit, json }: ReadCommandOptions,
  how: ReadOptions,
): Promise<number> {
  const stream = await store.stream(name);
  const linesOf = json === true ? jsonLinesOf : valueLinesOf;
  let records = 0;
  const options = { ...how, from, reuse: true, ...(limit === undefined ? {} : { limit }) };
  for await (const batch of stream.readBatches(options)) {
    await print(linesOf(batch));
    records += batch.length;
  }
  return records;
}
