/** `millrace info`: one stream in detail. */
import { Command } from 'commander';
import { open } from './engine.ts';
import type { StreamInfo } from '../stream/stream-info.ts';
import { parseDirectory, parseStreamName } from './arguments.ts';
import { examples } from './help.ts';
import { inspectLog } from './log-inspection.ts';
import { note, print, printJson } from './output.ts';
import { describeConfig } from './stream-settings.ts';
import { bytes, type Cell, count, counted, pairs, ratio, time } from './text.ts';
import { noteOn } from './unflushed-note.ts';

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
  const { found, consumers } = await describeStored(dir, name);
  const { unflushed } = await inspectLog(dir, 'unflushed');
  const unflushedRecords = unflushed.get(name) ?? 0;
  if (json) {
    await printJson({ ...found, consumers, unflushedRecords });
    return;
  }
  await print(pairs(describe(found, consumers)));
  const text = noteOn(dir, name, unflushedRecords);
  if (text !== undefined) note(text, false);
}

async function describeStored(dir: string, name: string): Promise<{ found: StreamInfo; consumers: number }> {
  const store = await open({ dir, readOnly: true });
  try {
    const stream = await store.stream(name);
    return { found: await stream.info(), consumers: (await stream.offsets()).length };
  } finally {
    await store.close();
  }
}

function describe(stream: StreamInfo, consumers: number): readonly (readonly [string, Cell])[] {
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
    ['held bytes', bytes(stream.heldBytes)],
    ['segments', `${count(stream.segments)}, ${counted(stream.runs, 'run')}`],
    ['truncations', stream.epoch],
    ['consumers', consumers],
    ...describeConfig(config),
  ];
}
