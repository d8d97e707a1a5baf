/** `millrace compact`: does now what compaction would do in time. */
import { Command, Option } from 'commander';
import type { CompactSummary } from '../compaction/agent.ts';
import type { Store } from '../store/store.ts';
import { parseStreamName } from './arguments.ts';
import { examples } from './help.ts';
import { interruptible } from './interruption.ts';
import { print, printJson } from './output.ts';
import { openPlace, type Place, PLACE_EXAMPLE, placeOf, type PlaceOptions, withPlace } from './place.ts';
import { startProgress } from './progress.ts';
import { bytes, counted } from './text.ts';

interface CompactOptions extends PlaceOptions {
  readonly stream?: string;
  readonly force?: true;
  readonly pause?: true;
  readonly resume?: true;
  readonly json?: true;
}

/** What is printed: the work, and the bytes that wait until no reader can need them. */
interface CompactResult extends CompactSummary {
  readonly deletingBytes: number;
}

const PROGRESS_INTERVAL = 200;

export function compactCommand(): Command {
  return withPlace(new Command('compact'))
    .summary('merge and clean up segments')
    .description(
      'Runs compaction until nothing is due: applies retention, merges small segments, and keeps the latest record ' +
        'of each key where a stream is configured so. Needs a store in a directory for itself. What it replaces is ' +
        'deleted a minute later by whoever has the store open then, so that readers can finish. With --pause it ' +
        'tells all processes that have the store open, or open it later, to start no compaction in the background ' +
        'until --resume: they hear of it within their `compaction.interval`, ten seconds by default; jobs that run ' +
        'go on, and so does this command without the option. Ctrl-C lets the jobs that run finish, and starts no more.',
    )
    .option('--stream <name>', 'only segments that hold this stream', parseStreamName)
    .option('--force', 'do not wait for ages and ratios')
    .addOption(new Option('--pause', 'pause it in all processes').conflicts(['resume', 'stream', 'force']))
    .addOption(new Option('--resume', 'end the pause').conflicts(['stream', 'force']))
    .option('--json', 'print the summary as a JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace compact ./data',
        'millrace compact ./data --stream orders --force',
        `millrace compact ${PLACE_EXAMPLE} --pause`,
      ),
    )
    .action((dir: string | undefined, options: CompactOptions) => {
      const place = placeOf(dir, options);
      if (options.pause === true || options.resume === true) return pause(place, options);
      return compact(place, options);
    });
}

/** Works beside the process that has the store open. */
async function pause(place: Place, { pause: paused = false, json }: { pause?: boolean; json?: true }): Promise<void> {
  const store = await openPlace(place, true);
  try {
    await store.setCompactionPaused(paused);
  } finally {
    await store.close();
  }
  if (json === true) await printJson({ paused });
  else await print(paused ? 'compaction is paused for all processes, until --resume\n' : 'compaction is resumed\n');
}

async function compact(place: Place, { stream, force, json }: CompactOptions): Promise<void> {
  const store = await openPlace(place, false);
  let result: CompactResult;
  try {
    const request = { force: force === true, ...(stream === undefined ? {} : { stream }) };
    const summary = await interruptible((signal) => withProgress(store, () => store.compact({ ...request, signal })));
    const { objects } = store.stats();
    result = { ...summary, deletingBytes: objects.deletingBytes };
  } finally {
    await store.close();
  }
  if (json === true) await printJson(result);
  else await print(describe(result));
}

async function withProgress<T>(store: Store, work: () => Promise<T>): Promise<T> {
  const progress = startProgress('compact', undefined);
  const update = async (): Promise<void> => {
    const { compaction } = store.stats();
    progress.update(compaction?.readBytes ?? 0, `read, ${bytes(compaction?.writtenBytes ?? 0)} written`);
  };
  const timer = setInterval(() => {
    // The store may close in between; the figures are an ornament.
    update().catch(() => undefined);
  }, PROGRESS_INTERVAL);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    progress.end();
  }
}

function describe({
  jobs,
  inputs,
  outputs,
  readBytes,
  writtenBytes,
  recordsDropped,
  deletingBytes,
}: CompactResult): string {
  const waiting = deletingBytes === 0 ? '' : `, ${bytes(deletingBytes)} wait for deletion`;
  if (jobs === 0) return `nothing was due${waiting}\n`;
  const made = `${counted(inputs, 'segment')} (${bytes(readBytes)}) became ${outputs} (${bytes(writtenBytes)})`;
  return `${counted(jobs, 'job')}: ${made}, ${counted(recordsDropped, 'record')} dropped${waiting}\n`;
}
