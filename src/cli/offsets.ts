/** `millrace offsets`: how far the consumers of a stream are. */
import { Command } from 'commander';
import { MillraceError } from '../errors/millrace-error.ts';
import { open } from './engine.ts';
import type { ConsumerOffset, Stream } from '../stream/stream.ts';
import { parseDirectory, parseReference, parseStoredOffset, parseStreamName, type StoredOffset } from './arguments.ts';
import { examples } from './help.ts';
import { existingStream, openExisting } from './open-existing.ts';
import { print, printJson } from './output.ts';
import { objectsGiven, objectsOption } from './place.ts';
import { table } from './text.ts';

interface OffsetsOptions {
  readonly set?: StoredOffset;
  readonly delete?: string;
  readonly objects?: string;
  readonly json?: true;
}

const HEADING = ['consumer', 'offset', 'lag'] as const;

export function offsetsCommand(): Command {
  return new Command('offsets')
    .summary('list, set or delete the offsets of consumers')
    .description(
      'Lists the consumers of a stream: the offset each has stored, that of the last record it is done with, and the ' +
        'records behind it. Works beside a process that has the store open, on what is in segments; --set and ' +
        '--delete need the store for themselves.',
    )
    .argument('<dir>', 'directory of the store', parseDirectory)
    .argument('<stream>', 'name of the stream', parseStreamName)
    .option('--set <consumer=offset>', 'store an offset for a consumer, forward or back', parseStoredOffset)
    .option('--delete <consumer>', 'forget a consumer', parseReference)
    .addOption(objectsOption())
    .option('--json', 'print a JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace offsets ./data orders',
        'millrace offsets ./data orders --set billing=41',
        'millrace offsets ./data orders --delete billing',
      ),
    )
    .action((dir: string, stream: string, options: OffsetsOptions) => offsets(dir, stream, options));
}

async function offsets(dir: string, name: string, options: OffsetsOptions): Promise<void> {
  const changes = options.set !== undefined || options.delete !== undefined;
  const where = { dir, ...(await objectsGiven(options.objects)) };
  const store = changes ? await openExisting(where) : await open({ ...where, readOnly: true });
  try {
    const stream = await existingStream(store, name);
    await change(stream, options);
    await printOffsets(name, await stream.offsets(), options.json === true);
  } finally {
    await store.close();
  }
}

async function change(stream: Stream, { set, delete: forgotten }: OffsetsOptions): Promise<void> {
  if (set !== undefined) await stream.storeOffset(set.reference, set.offset, { durable: true });
  if (forgotten === undefined || (await stream.deleteOffset(forgotten, { durable: true }))) return;
  throw new MillraceError(
    'ERR_MILLRACE_INVALID_REFERENCE',
    `${stream.name} has no consumer ${JSON.stringify(forgotten)}: "millrace offsets" lists those it has`,
  );
}

async function printOffsets(name: string, consumers: readonly ConsumerOffset[], json: boolean): Promise<void> {
  if (json) {
    await printJson({ stream: name, consumers });
    return;
  }
  const rows = consumers.map(({ reference, offset, lag }) => [reference, offset, lag]);
  await print(rows.length === 0 ? 'no consumers\n' : table(HEADING, rows));
}
