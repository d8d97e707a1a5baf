/** `millrace gc`: deletes objects that the store does not know. */
import { Command } from 'commander';
import type { OrphanOptions, OrphanReport } from '../store/orphans.ts';
import { parsePositive } from './arguments.ts';
import { examples } from './help.ts';
import { print, printJson } from './output.ts';
import { openPlace, PLACE_EXAMPLE, placeOf, type PlaceOptions, withPlace } from './place.ts';
import { forShell } from './shell-words.ts';
import { bytes, counted, time } from './text.ts';

interface GcOptions extends PlaceOptions {
  readonly dryRun?: true;
  readonly minAge?: number;
  readonly json?: true;
}

export function gcCommand(): Command {
  return withPlace(new Command('gc'))
    .summary('find and delete objects that the store does not know')
    .description(
      'Lists all objects and deletes those that the metadata of the store does not know: a process that was stopped ' +
        'for hours may leave some. Keeps what is younger than --min-age, and what is not of this store. After ' +
        'metadata was restored from a backup, everything written since looks unknown: look with --dry-run first. ' +
        'What compaction replaces is deleted without this command. Needs a store in a directory for itself, except ' +
        'with --dry-run.',
    )
    .option('--dry-run', 'list them, and delete nothing')
    .option(
      '--min-age <ms>',
      'age from which an unknown object is garbage (default a day, at least an hour)',
      parsePositive,
    )
    .option('--json', 'print the report as a JSON object')
    .addHelpText('after', examples('millrace gc ./data --dry-run', `millrace gc ${PLACE_EXAMPLE}`))
    .action((dir: string | undefined, options: GcOptions) => collect(dir, options));
}

async function collect(dir: string | undefined, options: GcOptions): Promise<void> {
  const dryRun = options.dryRun === true;
  const store = await openPlace(placeOf(dir, options), dryRun);
  try {
    const { minAge } = options;
    const request: OrphanOptions = { dryRun, ...(minAge === undefined ? {} : { minAge }) };
    const report = await store.removeOrphans(request);
    if (options.json === true) await printJson({ dryRun, ...report });
    else await print(describe(report, dryRun));
  } finally {
    await store.close();
  }
}

function describe(report: OrphanReport, dryRun: boolean): string {
  const { orphans, orphanBytes, deleted, young, foreign, unfinished, objects, listed } = report;
  const lines = listed.map(({ key, bytes: size, modifiedAt }) => `${key}  ${bytes(size)}  ${time(modifiedAt)}`);
  if (orphans > listed.length) lines.push(`and ${counted(orphans - listed.length, 'more orphan')}`);
  lines.push(...foreign.map((key) => `${forShell(key)}  not of this store, kept`));
  const done = dryRun ? 'nothing deleted' : `${deleted} deleted`;
  const kept = young === 0 ? '' : `, ${young} too young to tell`;
  const parts = unfinished === 0 ? '' : `, ${counted(unfinished, 'unfinished write')}${dryRun ? '' : ' removed'}`;
  const found = `${counted(orphans, 'orphan')} (${bytes(orphanBytes)}) among ${counted(objects, 'object')}`;
  return `${[...lines, `${found}: ${done}${kept}${parts}`].join('\n')}\n`;
}
