/** `millrace restore`: makes a store of a backup. */
import { Command, Option } from 'commander';
import { parseDirectory, parsePositive } from './arguments.ts';
import { parseTarget, TARGET_HELP, targetOf } from './backup-target.ts';
import { examples } from './help.ts';
import { interruptible } from './interruption.ts';
import { print, printJson } from './output.ts';
import { objectsGiven, PLACES } from './place.ts';
import { withProgress } from './progress.ts';
import { bytes, counted, time } from './text.ts';

interface RestoreCommandOptions {
  readonly backup?: number;
  readonly sameStore?: true;
  readonly objects?: string;
  readonly json?: true;
}

export function restoreCommand(): Command {
  return new Command('restore')
    .summary('make a store of a backup')
    .description(
      'Makes a store of a backup, by default the latest, in a directory that is missing or empty, and checks every ' +
        'byte on the way. The store is a new one, with an id of its own; --same-store keeps the id, to move a store ' +
        'whose original is never opened again. When it is interrupted, run it again.',
    )
    .argument('<target>', TARGET_HELP, parseTarget)
    .argument('<dir>', 'directory of the new store', parseDirectory)
    .option('--backup <n>', 'which backup', parsePositive)
    .option('--same-store', 'keep the id of the store: it has moved')
    .addOption(new Option('--objects <place>', `where its objects go, if not into the directory: ${PLACES}`))
    .option('--json', 'print the report as a JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace restore /mnt/backups/data ./restored',
        'millrace restore s3://my-bucket/data/ ./data --same-store --backup 12',
      ),
    )
    .action((target: string, dir: string, options: RestoreCommandOptions) => restoreStore(target, dir, options));
}

async function restoreStore(target: string, dir: string, options: RestoreCommandOptions): Promise<void> {
  const { restore } = await import('../store/restore.ts');
  const place = await targetOf(target);
  const { backup, sameStore, json } = options;
  const chosen = {
    sameStore: sameStore === true,
    ...(await objectsGiven(options.objects)),
    ...(backup === undefined ? {} : { backup }),
  };
  const report = await interruptible((signal) =>
    withProgress('restore', (progress) => restore(place, { dir, ...chosen, signal, progress })),
  );
  if (json === true) {
    await printJson(report);
    return;
  }
  const { records, streams, objects, bytes: size, createdAt } = report;
  await print(
    `backup ${report.backup} of ${time(createdAt)}: ${counted(records, 'record')} of ${counted(streams, 'stream')} in ` +
      `${counted(objects, 'segment')} (${bytes(size)}) restored into ${dir}\n`,
  );
}
