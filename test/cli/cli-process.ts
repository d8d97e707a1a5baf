/** The command line as its users meet it: a process of its own, with pipes. */
import assert from 'node:assert/strict';
import { type ChildProcess, type ChildProcessByStdio, fork, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';

/** The command as it is published. */
export const MAIN: string = join(import.meta.dirname, '..', '..', 'bundle', 'cli.js');
const HOST: string = join(import.meta.dirname, 'cli-host.js');

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type CliProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** Starts the command with open pipes. The test ends it. */
export function startCli(...args: readonly string[]): CliProcess {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  // A command that refuses its arguments never reads its input.
  child.stdin.on('error', () => undefined);
  return child;
}

/** Resolves when the process has ended and everything it printed was read. */
export async function finished(child: CliProcess): Promise<CliResult> {
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, stdout, stderr };
}

/** Runs a command to its end with `input` on its standard input. */
export function runCli(args: readonly string[], input: string | Uint8Array = ''): Promise<CliResult> {
  const child = startCli(...args);
  child.stdin.end(input);
  return finished(child);
}

/** As `runCli`, for a command that has to succeed and print nothing on standard error. */
export async function succeed(args: readonly string[], input: string | Uint8Array = ''): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, input);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  return stdout;
}

/** Runs commands one after another in a process of their own, where what they say is tested and not how they live. */
export class CliHost {
  readonly #child: ChildProcess;
  /** Who waits for an answer, in the order of asking. */
  readonly #waiting: ((result: CliResult) => void)[] = [];

  constructor() {
    this.#child = fork(HOST, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#child.on('message', (result) => this.#waiting.shift()?.(result as CliResult));
  }

  run(args: readonly string[]): Promise<CliResult> {
    this.#child.send(args);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** As `run`, for a command that has to succeed and print nothing on standard error. */
  async succeed(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
    return stdout;
  }

  end(): void {
    this.#child.disconnect();
  }
}

/** The next `count` lines that the process prints. */
export async function nextLines(child: CliProcess, count: number): Promise<string[]> {
  let printed = '';
  for (;;) {
    const lines = printed.split('\n');
    if (lines.length > count) return lines.slice(0, count);
    const chunk = (child.stdout.read() as Buffer | null)?.toString();
    if (chunk === undefined) await new Promise((resolve) => child.stdout.once('readable', resolve));
    else printed += chunk;
  }
}
