/** `millrace configure`: changes what a stream keeps, and how. */
import { Command } from 'commander';
import { parseDirectory, parseStreamName } from './arguments.ts';
import { usageError } from './failure.ts';
import { examples } from './help.ts';
import { existingStream, openExisting } from './open-existing.ts';
import { print, printJson } from './output.ts';
import { objectsGiven, objectsOption } from './place.ts';
import { describeConfig, type StreamSettings, streamOptionsOf, withStreamSettings } from './stream-settings.ts';
import { pairs } from './text.ts';

type ConfigureOptions = StreamSettings & { readonly objects?: string; readonly json?: true };

export function configureCommand(): Command {
  const command = new Command('configure')
    .summary('change the settings of a stream')
    .description(
      'Changes the settings that are named and keeps the others. Needs the store for itself. Retention takes whole ' +
        'runs of records, at the next flush; by bytes it leaves the newest one.',
    )
    .argument('<dir>', 'directory of the store', parseDirectory)
    .argument('<stream>', 'name of the stream', parseStreamName);
  return withStreamSettings(command)
    .addOption(objectsOption())
    .option('--json', 'print the settings as a JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace configure ./data orders --max-bytes 10GiB --max-age 7d',
        'millrace configure ./data orders --max-age none --cleanup compact',
      ),
    )
    .action((dir: string, stream: string, options: ConfigureOptions) => configure(dir, stream, options));
}

async function configure(dir: string, name: string, { json, objects, ...settings }: ConfigureOptions): Promise<void> {
  if (Object.keys(settings).length === 0) throw usageError('name a setting to change');
  const store = await openExisting({ dir, ...(await objectsGiven(objects)) });
  try {
    const stream = await existingStream(store, name);
    await stream.configure(streamOptionsOf(settings, stream.config));
    if (json === true) await printJson({ stream: name, config: stream.config });
    else await print(pairs([['stream', name], ...describeConfig(stream.config)]));
  } finally {
    await store.close();
  }
}
