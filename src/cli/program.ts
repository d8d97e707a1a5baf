/** All commands under one name. */
import { Command } from 'commander';
import { backupCommand } from './backup.ts';
import { backupsCommand } from './backups.ts';
import { compactCommand } from './compact.ts';
import { completionCommand } from './completion.ts';
import { configureCommand } from './configure.ts';
import { dumpCommand } from './dump.ts';
import { gcCommand } from './gc.ts';
import { infoCommand } from './info.ts';
import { ingestCommand } from './ingest.ts';
import { loadCommand } from './load.ts';
import { lsCommand } from './ls.ts';
import { objectsCommand } from './objects.ts';
import { offsetsCommand } from './offsets.ts';
import { readCommand } from './read.ts';
import { recoverCommand } from './recover.ts';
import { serveCommand } from './serve.ts';
import { restoreCommand } from './restore.ts';
import { trimCommand } from './trim.ts';
import { verifyCommand } from './verify.ts';
import { packageVersion } from './version.ts';

const DETAILS = `
Exit codes: 0 ok, 1 failed or damage found, 2 wrong usage.
Errors are one line on standard error, "millrace: CODE: message"; an object
with --json.

ingest, configure, trim, recover, compact, gc, load and serve need the store for
themselves, as does offsets with --set or --delete; compact --pause and
--resume, and gc --dry-run, do not. The others change nothing and work beside a
process that has it open, on what is in segments: a writer moves records there
when a slot of its log is full, every 10 seconds, and when it closes; after a
crash, millrace recover does.

Examples:
  seq 1000000 | millrace ingest ./data numbers
  millrace read ./data numbers --from 42 --limit 3
  millrace read ./data orders --from next --follow --json | jq .value
  millrace verify ./data && echo intact`;

function buildProgram(): Command {
  const program = new Command('millrace')
    .description('Durable append-only streams in a directory: write, read and inspect them.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    // Errors are printed in one place, in one form.
    .configureOutput({ outputError: () => undefined })
    .exitOverride()
    .addHelpText('after', DETAILS);
  const commands = [
    ingestCommand(),
    readCommand(),
    lsCommand(),
    infoCommand(),
    offsetsCommand(),
    configureCommand(),
    trimCommand(),
    verifyCommand(),
    recoverCommand(),
    compactCommand(),
    gcCommand(),
    objectsCommand(),
    backupCommand(),
    backupsCommand(),
    restoreCommand(),
    dumpCommand(),
    loadCommand(),
    completionCommand(() => program.commands),
    serveCommand(),
  ];
  for (const command of commands) program.addCommand(command.copyInheritedSettings(program));
  return program;
}

/**
 * Runs the command that the arguments name. Help is for commands there are: asked about others, it would hide the typo.
 */
export async function run(args: readonly string[]): Promise<void> {
  const program = buildProgram();
  const [first, second] = args;
  const named = first === 'help' ? second : first;
  const isKnown = program.commands.some((command) => command.name() === named) || named === 'help';
  if (named !== undefined && !named.startsWith('-') && !isKnown) program.error(`unknown command '${named}'`);
  await program.parseAsync(args, { from: 'user' });
}
