/** `millrace info`: one stream in detail. */
import { Command } from 'commander';
import { open } from '../store/open.ts';
import type { StreamConfig } from '../record/stream-config.ts';
import type { StreamInfo } from '../stream/stream-info.ts';
import { parseDirectory, parseStreamName } from './arguments.ts';
import { examples } from './help.ts';
import { note, print, printJson } from './output.ts';
import { bytes, type Cell, count, pairs, ratio, time } from './text.ts';
import { unflushedNote } from './unflushed-note.ts';

export function infoCommand(): Command {
  return new Command('info')
    .summary('describe a stream')
    .description('Describes a stream: what it holds in segments, and how it is configured.')
    .argument('<dir>', 'directory of the store', parseDirectory)
    .argument('<stream>', 'name of the stream', parseStreamName)
    .option('--json', 'print a JSON object')
    .addHelpText(
      'after',
      examples('millrace info ./data orders', 'millrace info ./data orders --json | jq .nextOffset'),
    )
    .action((dir: string, stream: string, options: { readonly json?: true }) =>
      info(dir, stream, options.json === true),
    );
}

async function info(dir: string, name: string, json: boolean): Promise<void> {
  const store = await open({ dir, readOnly: true });
  try {
    const stream = await store.stream(name);
    const found = await stream.info();
    if (json) await printJson(found);
    else await print(pairs(describe(found)));
  } finally {
    await store.close();
  }
  const text = await unflushedNote(dir, name);
  if (text !== undefined) note(text, json);
}

function describe(stream: StreamInfo): readonly (readonly [string, Cell])[] {
  const { userBytes, storedBytes, trackingBytes, firstTimestamp, lastTimestamp, config } = stream;
  return [
    ['stream', stream.name],
    ['records', stream.records],
    ['first offset', stream.firstOffset],
    ['next offset', stream.nextOffset],
    ['first timestamp', firstTimestamp === undefined ? '-' : time(firstTimestamp)],
    ['last timestamp', lastTimestamp === undefined ? '-' : time(lastTimestamp)],
    ['bytes', `${bytes(userBytes)} (${count(userBytes)})`],
    ['stored bytes', `${bytes(storedBytes)} (${count(storedBytes)}), ratio ${ratio(userBytes, storedBytes)}`],
    ['tracking bytes', bytes(trackingBytes)],
    ['segments', stream.segments],
    ...describeConfig(config),
  ];
}

function describeConfig(config: StreamConfig): readonly (readonly [string, Cell])[] {
  const { maxBytes, maxAge } = config.retention;
  const limits = [
    ...(maxBytes === undefined ? [] : [bytes(maxBytes)]),
    ...(maxAge === undefined ? [] : [`${count(maxAge)} ms`]),
  ];
  return [
    ['compression', config.compression],
    ['cleanup', config.cleanup],
    ['retention', limits.length === 0 ? 'unlimited' : limits.join(', ')],
    ['deletion deadline', config.deletionDeadline === undefined ? 'off' : `${count(config.deletionDeadline)} ms`],
  ];
}
