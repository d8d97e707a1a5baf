/** `millrace trim`: removes the beginning of a stream. */
import { Command } from 'commander';
import { parseDirectory, parseOffset, parseStreamName } from './arguments.ts';
import { examples } from './help.ts';
import { existingStream, openExisting } from './open-existing.ts';
import { print, printJson } from './output.ts';
import { objectsGiven, objectsOption } from './place.ts';
import { counted } from './text.ts';

interface TrimOptions {
  readonly objects?: string;
  readonly json?: true;
}

export function trimCommand(): Command {
  return new Command('trim')
    .summary('remove the records below an offset')
    .description(
      'Removes the records of a stream below an offset: they cannot be read any more, and compaction frees their ' +
        'bytes. There is no way back. Needs the store for itself.',
    )
    .argument('<dir>', 'directory of the store', parseDirectory)
    .argument('<stream>', 'name of the stream', parseStreamName)
    .argument('<offset>', 'the first offset to keep', parseOffset)
    .addOption(objectsOption())
    .option('--json', 'print a JSON object')
    .addHelpText('after', examples('millrace trim ./data orders 1000'))
    .action((dir: string, stream: string, offset: number, options: TrimOptions) => trim(dir, stream, offset, options));
}

async function trim(dir: string, name: string, offset: number, { objects, json }: TrimOptions): Promise<void> {
  const store = await openExisting({ dir, ...(await objectsGiven(objects)) });
  try {
    const stream = await existingStream(store, name);
    await stream.trim(offset);
    const { firstOffset, nextOffset, records } = await stream.info();
    if (json === true) await printJson({ stream: name, firstOffset, nextOffset, records });
    else await print(`${name} starts at offset ${firstOffset} and holds ${counted(records, 'record')}\n`);
  } finally {
    await store.close();
  }
}
