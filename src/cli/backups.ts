/** `millrace backups`: what backups a target holds, and whether they are intact. */
import { Command } from 'commander';
import { parsePositive } from './arguments.ts';
import { parseTarget, TARGET_HELP, targetOf } from './backup-target.ts';
import { EXIT } from './failure.ts';
import { examples } from './help.ts';
import { interruptible } from './interruption.ts';
import { print, printJson } from './output.ts';
import { withProgress } from './progress.ts';
import { forShell } from './shell-words.ts';
import { bytes, counted, table, time } from './text.ts';

interface BackupsOptions {
  readonly verify?: true;
  readonly backup?: number;
  readonly json?: true;
}

const HEADING = ['backup', 'made', 'streams', 'records', 'segments', 'bytes', 'store'] as const;

export function backupsCommand(): Command {
  return new Command('backups')
    .summary('list or check the backups in a target')
    .description(
      'Lists the complete backups in a target; with --verify checks every byte of one, by default the latest.',
    )
    .argument('<target>', TARGET_HELP, parseTarget)
    .option('--verify', 'check a backup; exit code 1 when it is damaged')
    .option('--backup <n>', 'which one to check', parsePositive)
    .option('--json', 'print a JSON object')
    .addHelpText(
      'after',
      examples('millrace backups /mnt/backups/data', 'millrace backups /mnt/backups/data --verify && echo intact'),
    )
    .action((target: string, options: BackupsOptions) =>
      options.verify === true ? verify(target, options) : list(target, options.json === true),
    );
}

async function list(target: string, json: boolean): Promise<void> {
  const { backups } = await import('../store/backup.ts');
  const found = await backups(await targetOf(target));
  if (json) {
    await printJson({ target, backups: found });
    return;
  }
  const rows = found.map(({ backup, createdAt, streams, records, objects, bytes: size, storeId }) => [
    backup,
    time(createdAt),
    streams,
    records,
    objects,
    bytes(size),
    storeId.slice(0, 8),
  ]);
  await print(rows.length === 0 ? `no backups in ${target}\n` : table(HEADING, rows));
}

async function verify(target: string, { backup, json }: BackupsOptions): Promise<void> {
  const { verifyBackup } = await import('../store/backup.ts');
  const place = await targetOf(target);
  const report = await interruptible((signal) =>
    withProgress('verify', (progress) =>
      verifyBackup(place, { signal, progress, ...(backup === undefined ? {} : { backup }) }),
    ),
  );
  const { objects, bytes: size, chunks, records, problems } = report;
  if (problems.length > 0) process.exitCode = EXIT.failed;
  if (json === true) {
    await printJson({ intact: problems.length === 0, objects, bytes: size, chunks, records, problems });
    return;
  }
  for (const { where, problem } of problems) await print(`damaged: ${where}: ${forShell(problem)}\n`);
  const verdict = problems.length === 0 ? 'intact' : counted(problems.length, 'problem');
  await print(`${verdict}: ${counted(records, 'record')} in ${counted(objects, 'segment')} (${bytes(size)})\n`);
}
