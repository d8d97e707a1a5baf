/** How a command ends: one line on standard error, and an exit code that scripts can rely on. */
import { CommanderError } from 'commander';
import { type ErrorCode, type ErrorKind } from '../errors/codes.ts';
import { type ErrorDetails, isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import { BrokenPipe } from './output.ts';
import { forShell } from './shell-words.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** An error as `--json` prints it. */
interface Failure {
  readonly code: ErrorCode | 'INTERNAL';
  readonly kind: ErrorKind | 'bug';
  readonly retryable: boolean;
  readonly message: string;
  readonly details: ErrorDetails;
  readonly exit: number;
}

/** Wrong usage that no single argument is to blame for. */
export function usageError(message: string): CommanderError {
  return new CommanderError(EXIT.usage, 'millrace.usage', message);
}

/** What the library refuses of the arguments is wrong usage here. */
export async function asUsage<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isMillraceError(error, 'ERR_MILLRACE_INVALID_ARGUMENT') ? usageError(error.message) : error;
  }
}

/** Errors of the system that say that the path is no directory one can work in. */
const UNUSABLE: ReadonlySet<unknown> = new Set(['ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG']);

/**
 * Prints what went wrong, if anything did, and returns the exit code. `command` is the one whose help says how it is
 * used.
 */
export function reportFailure(error: unknown, json: boolean, command?: string): number {
  if (error instanceof BrokenPipe) return EXIT.ok;
  // The help or the version was printed: because it was asked for, or because nothing was.
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
  if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
  const failure = describe(error, command);
  process.stderr.write(json ? asJson(failure) : `millrace: ${failure.code}: ${failure.message}\n`);
  if (failure.kind === 'bug' && error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`);
  return failure.exit;
}

function describe(error: unknown, command: string | undefined): Failure {
  if (error instanceof CommanderError) {
    const help = ['millrace', ...(command === undefined ? [] : [command]), '--help'].join(' ');
    const message = `${usageMessage(error.message)} (see ${help})`;
    return plain(new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', message), EXIT.usage);
  }
  if (isMillraceError(error)) return plain(error, EXIT.failed);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Error && 'syscall' in error) {
    const unusable = UNUSABLE.has((error as NodeJS.ErrnoException).code);
    const code = unusable ? 'ERR_MILLRACE_DIRECTORY_UNUSABLE' : 'ERR_MILLRACE_READ_FAILED';
    return plain(new MillraceError(code, message), EXIT.failed);
  }
  const bug = `${message}: this is a bug, please report it`;
  return { code: 'INTERNAL', kind: 'bug', retryable: false, message: oneLine(bug), details: {}, exit: EXIT.failed };
}

function usageMessage(message: string): string {
  return oneLine(message)
    .replace(/^error: /, '')
    .replace(/^command-argument value '(.*)' is invalid for argument '(\w+)'\./, "argument <$2> cannot be '$1'.")
    .replace(/\.$/, '');
}

function plain({ code, kind, retryable, message, details }: MillraceError, exit: number): Failure {
  return { code, kind, retryable, message: oneLine(forShell(message)), details, exit };
}

function asJson({ code, kind, retryable, message, details }: Failure): string {
  return `${JSON.stringify({ error: { code, kind, retryable, message, details } })}\n`;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim();
}
