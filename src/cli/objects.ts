/** `millrace objects`: the objects of a store as its metadata knows them. */
import { Command, Option } from 'commander';
import type { ObjectDescription, ObjectState } from '../coordinator/coordinator.ts';
import type { DescribedObject } from '../store/describe-object.ts';
import { examples } from './help.ts';
import { print, printJson } from './output.ts';
import { openPlace, PLACE_EXAMPLE, placeOf, type PlaceOptions, withPlace } from './place.ts';
import { bytes, pairs, table, time } from './text.ts';

interface ObjectsOptions extends PlaceOptions {
  readonly state?: ObjectState;
  readonly key?: string;
  readonly json?: true;
}

const HEADING = ['object', 'state', 'since', 'generation', 'bytes', 'dead', 'runs'] as const;
const RUN_HEADING = ['stream', 'first', 'next', 'records', 'bytes', 'at'] as const;

export function objectsCommand(): Command {
  return withPlace(new Command('objects'))
    .summary('list the objects of a store, or describe one')
    .description(
      'Lists what the metadata says of the objects of a store: state, generation, live and dead bytes. With --key ' +
        'one of them, and what it holds of which stream. `millrace dump` shows what is in the file itself.',
    )
    .addOption(new Option('--state <state>', 'only these').choices(['reserved', 'committed', 'deleting', 'gone']))
    .option('--key <key>', 'describe this object')
    .option('--json', 'print a JSON object')
    .addHelpText('after', examples('millrace objects ./data', `millrace objects ${PLACE_EXAMPLE} --state deleting`))
    .action((dir: string | undefined, options: ObjectsOptions) => list(dir, options));
}

async function list(dir: string | undefined, options: ObjectsOptions): Promise<void> {
  const { state, key, json } = options;
  const store = await openPlace(placeOf(dir, options), true);
  try {
    if (key !== undefined) {
      const object = await store.describeObject(key);
      await (json === true ? printJson({ ...object }) : print(described(object)));
      return;
    }
    const objects = await store.objects(state === undefined ? {} : { state });
    if (json === true) await printJson({ objects });
    else await print(objects.length === 0 ? 'no objects\n' : table(HEADING, objects.map(row)));
  } finally {
    await store.close();
  }
}

function row(object: ObjectDescription): (string | number)[] {
  const { key, state, stateAt, generation, liveRuns } = object;
  return [key, state, time(stateAt), generation, bytes(object.bytes), bytes(object.bytes - object.liveBytes), liveRuns];
}

function described({ runs, storedBytes, ...object }: DescribedObject): string {
  const facts = pairs([
    ['object', object.key],
    ['state', `${object.state} since ${time(object.stateAt)}`],
    ['committed', object.committedAt === 0 ? 'never' : time(object.committedAt)],
    ['generation', object.generation],
    ['bytes', object.bytes],
    ['in the object store', storedBytes ?? 'missing'],
    ['dead bytes', object.bytes - object.liveBytes],
    ['checksum', object.checksum === '' ? '-' : object.checksum],
    ['job', object.jobId ?? 'none'],
    ['rewrite by', object.rewriteBy === undefined ? '-' : time(object.rewriteBy)],
  ]);
  if (runs.length === 0) return facts;
  const rows = runs.map((run) => [
    run.stream ?? `deleted (${run.streamId})`,
    run.firstOffset,
    run.endOffset,
    run.records,
    run.byteLength,
    run.byteOffset,
  ]);
  return `${facts}\n${table(RUN_HEADING, rows)}`;
}
