/** All commands under one name. */
import { Command } from 'commander';
import { PACKAGE_VERSION } from '../base/package-version.ts';

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

/** In the order of the help. Each is loaded when it is needed. */
const COMMANDS: Readonly<Record<string, (program: Command) => Promise<Command>>> = {
  ingest: async () => (await import('./ingest.ts')).ingestCommand(),
  read: async () => (await import('./read.ts')).readCommand(),
  ls: async () => (await import('./ls.ts')).lsCommand(),
  info: async () => (await import('./info.ts')).infoCommand(),
  offsets: async () => (await import('./offsets.ts')).offsetsCommand(),
  configure: async () => (await import('./configure.ts')).configureCommand(),
  trim: async () => (await import('./trim.ts')).trimCommand(),
  verify: async () => (await import('./verify.ts')).verifyCommand(),
  recover: async () => (await import('./recover.ts')).recoverCommand(),
  compact: async () => (await import('./compact.ts')).compactCommand(),
  gc: async () => (await import('./gc.ts')).gcCommand(),
  objects: async () => (await import('./objects.ts')).objectsCommand(),
  backup: async () => (await import('./backup.ts')).backupCommand(),
  backups: async () => (await import('./backups.ts')).backupsCommand(),
  restore: async () => (await import('./restore.ts')).restoreCommand(),
  dump: async () => (await import('./dump.ts')).dumpCommand(),
  load: async () => (await import('./load.ts')).loadCommand(),
  completion: async (program) => (await import('./completion.ts')).completionCommand(() => program.commands),
  serve: async () => (await import('./serve.ts')).serveCommand(),
};

/** With the commands of these names. */
async function buildProgram(names: readonly string[]): Promise<Command> {
  const program = new Command('millrace')
    .description('Durable append-only streams in a directory: write, read and inspect them.')
    .version(PACKAGE_VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    // Errors are printed in one place, in one form.
    .configureOutput({ outputError: () => undefined })
    .exitOverride()
    .addHelpText('after', DETAILS);
  for (const name of names) {
    const command = await COMMANDS[name]?.(program);
    if (command !== undefined) program.addCommand(command.copyInheritedSettings(program));
  }
  return program;
}

/** The command that the arguments name, if there is one of that name. */
export function commandOf(args: readonly string[]): string | undefined {
  const name = nameIn(args);
  return name !== undefined && Object.hasOwn(COMMANDS, name) ? name : undefined;
}

function nameIn([first, second]: readonly string[]): string | undefined {
  return first === 'help' ? second : first;
}

/** Those that have to be loaded. */
function commandsFor(named: string | undefined, isCommand: boolean): readonly string[] {
  if (named === '-V' || named === '--version') return [];
  // A completion script has all of them in it, and a typo is answered with the nearest one.
  return isCommand && named !== undefined && named !== 'completion' ? [named] : Object.keys(COMMANDS);
}

/**
 * Runs the command that the arguments name. Help is for commands there are: asked about others, it would hide the typo.
 */
export async function run(args: readonly string[]): Promise<void> {
  const named = nameIn(args);
  const isCommand = commandOf(args) !== undefined;
  const program = await buildProgram(commandsFor(named, isCommand));
  const isKnown = isCommand || named === 'help';
  if (named !== undefined && !named.startsWith('-') && !isKnown) program.error(`unknown command '${named}'`);
  await program.parseAsync(args, { from: 'user' });
}
