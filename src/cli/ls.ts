/** `millrace ls`: what streams a store holds. */
import { Command } from 'commander';
import { open } from './engine.ts';
import type { StreamInfo } from '../stream/stream-info.ts';
import { parseDirectory } from './arguments.ts';
import { examples } from './help.ts';
import { inspectLog, unflushedTotal } from './log-inspection.ts';
import { note, print, printJson } from './output.ts';
import { bytes, ratio, table } from './text.ts';
import { noteOn } from './unflushed-note.ts';

const HEADING = ['stream', 'records', 'first', 'next', 'bytes', 'stored', 'ratio', 'segments'] as const;

export function lsCommand(): Command {
  return new Command('ls')
    .summary('list the streams of a store')
    .description('Lists the streams of a store with what they hold in segments.')
    .argument('<dir>', 'directory of the store', parseDirectory)
    .option('--json', 'print a JSON object')
    .addHelpText('after', examples('millrace ls ./data', "millrace ls ./data --json | jq '.streams[].name'"))
    .action((dir: string, options: { readonly json?: true }) => list(dir, options.json === true));
}

async function list(dir: string, json: boolean): Promise<void> {
  const streams = await infoOfAll(dir);
  const log = await inspectLog(dir, 'unflushed');
  if (json) {
    const complete = streams.map((stream) => ({ ...stream, unflushedRecords: log.unflushed.get(stream.name) ?? 0 }));
    await printJson({ directory: dir, streams: complete, unflushedRecords: unflushedTotal(log) });
    return;
  }
  const rows = streams.map(({ name, records, firstOffset, nextOffset, userBytes, storedBytes, segments }) => [
    name,
    records,
    firstOffset,
    nextOffset,
    bytes(userBytes),
    bytes(storedBytes),
    ratio(userBytes, storedBytes),
    segments,
  ]);
  await print(rows.length === 0 ? 'no streams\n' : table(HEADING, rows));
  const text = noteOn(dir, 'its streams', unflushedTotal(log));
  if (text !== undefined) note(text, false);
}

async function infoOfAll(dir: string): Promise<StreamInfo[]> {
  const store = await open({ dir, readOnly: true });
  try {
    const streams: StreamInfo[] = [];
    for (const { name } of await store.streams()) {
      // One that its writer has deleted meanwhile is not there any more.
      const stream = await store.findStream(name);
      if (stream !== undefined) streams.push(await stream.info());
    }
    return streams;
  } finally {
    await store.close();
  }
}
