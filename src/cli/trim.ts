/** `millrace trim`: removes the beginning of a stream. */
import { Command } from 'commander';
import { parseDirectory, parseOffset, parseStreamName } from './arguments.ts';
import { examples } from './help.ts';
import { existingStream, openExisting } from './open-existing.ts';
import { print, printJson } from './output.ts';
import { counted } from './text.ts';

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
    .option('--json', 'print a JSON object')
    .addHelpText('after', examples('millrace trim ./data orders 1000'))
    .action((dir: string, stream: string, offset: number, options: { readonly json?: true }) =>
      trim(dir, stream, offset, options.json === true),
    );
}

async function trim(dir: string, name: string, offset: number, json: boolean): Promise<void> {
  const store = await openExisting({ dir });
  try {
    const stream = await existingStream(store, name);
    await stream.trim(offset);
    const { firstOffset, nextOffset, records } = await stream.info();
    if (json) await printJson({ stream: name, firstOffset, nextOffset, records });
    else await print(`${name} starts at offset ${firstOffset} and holds ${counted(records, 'record')}\n`);
  } finally {
    await store.close();
  }
}
