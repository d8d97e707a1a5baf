/** `millrace backup`: a consistent copy of a store, incremental by segment. */
import { Command } from 'commander';
import type { BackupReport } from '../backup/backup.ts';
import { isMillraceError } from '../errors/millrace-error.ts';
import type { OpenOptions } from '../store/options.ts';
import type { Store } from '../store/store.ts';
import { open } from './engine.ts';
import { parseDirectory, parsePositive } from './arguments.ts';
import { parseTarget, TARGET_HELP, targetOf } from './backup-target.ts';
import { examples } from './help.ts';
import { interruptible } from './interruption.ts';
import { inspectLog, unflushedTotal } from './log-inspection.ts';
import { openExisting } from './open-existing.ts';
import { note, print, printJson } from './output.ts';
import { objectsGiven, objectsOption } from './place.ts';
import { withProgress } from './progress.ts';
import { bytes, counted } from './text.ts';
import { noteOn } from './unflushed-note.ts';

interface BackupOptions {
  readonly keep?: number;
  readonly objects?: string;
  readonly json?: true;
}

export function backupCommand(): Command {
  return new Command('backup')
    .summary('back a store up')
    .description(
      'Copies what a store holds into a directory or a bucket: the first time all of it, later only the segments ' +
        'that are new. A backup is there whole or not at all. Where another process has the store open, it holds ' +
        'what is in segments; otherwise the log is recovered first, as the next writer would do.',
    )
    .argument('<dir>', 'directory of the store', parseDirectory)
    .argument('<target>', `${TARGET_HELP}; of this store alone`, parseTarget)
    .option('--keep <n>', 'keep the latest n backups, and remove the others', parsePositive)
    .addOption(objectsOption())
    .option('--json', 'print the report as a JSON object')
    .addHelpText(
      'after',
      examples('millrace backup ./data /mnt/backups/data --keep 7', 'millrace backup ./data s3://my-bucket/data/'),
    )
    .action((dir: string, target: string, options: BackupOptions) => backup(dir, target, options));
}

async function backup(dir: string, target: string, { keep, objects, json }: BackupOptions): Promise<void> {
  const store = await openEitherWay({ dir, ...(await objectsGiven(objects)) });
  let report: BackupReport;
  let unflushed: number;
  try {
    const place = await targetOf(target);
    report = await interruptible((signal) =>
      withProgress('backup', (progress) =>
        store.backup(place, { signal, progress, ...(keep === undefined ? {} : { keep }) }),
      ),
    );
    unflushed = unflushedTotal(await inspectLog(dir, 'unflushed'));
  } finally {
    await store.close();
  }
  const text = noteOn(dir, 'its streams', unflushed);
  if (text !== undefined) note(text, json === true);
  if (json === true) await printJson({ ...report, unflushedRecords: unflushed });
  else await print(describe(report));
}

/** For writing, so that what is in the log comes along; beside another writer for reading. */
async function openEitherWay(where: OpenOptions & { readonly dir: string }): Promise<Store> {
  try {
    return await openExisting({ ...where, compaction: false });
  } catch (error) {
    if (isMillraceError(error, 'ERR_MILLRACE_LOCKED')) return open({ ...where, readOnly: true });
    // The one other kind of store that lies in a directory.
    if (isMillraceError(error, 'ERR_MILLRACE_UNSUPPORTED')) return open({ ...where, readOnly: true });
    throw error;
  }
}

function describe(report: BackupReport): string {
  const { copiedObjects, copiedBytes, objects, removedBackups } = report;
  const removed = removedBackups === 0 ? '' : `, ${counted(removedBackups, 'older backup')} removed`;
  return (
    `backup ${report.backup}: ${counted(report.records, 'record')} of ${counted(report.streams, 'stream')} in ` +
    `${counted(objects, 'segment')} (${bytes(report.bytes)}), ${copiedObjects} new (${bytes(copiedBytes)})${removed}\n`
  );
}
