/** Programs that are on the machine or are not: nothing here installs one. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A server that a peer's client talks to. */
export interface ServerProgram {
  readonly name: string;
  /** Looked at before PATH: where the program is, if PATH has a wrapper for the service of the machine. */
  readonly places?: readonly string[];
  /** Arguments that make it print its version. Default: its folder tells. */
  readonly versionArguments?: readonly string[];
  /** Its package on Debian and Ubuntu. */
  readonly packageName: string;
}

const VERSION = /\d+\.\d+\.\d+/;
const TIMEOUT = 20_000;

/** The program's path; `undefined` when it is not installed. */
export function programPath({ name, places = [] }: ServerProgram): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return [...places, ...folders.map((folder) => join(folder, name))].find(isExecutable);
}

/** Why a peer cannot take part, with the remedy; `undefined` when it can. */
export function absenceOf(program: ServerProgram | undefined): string | undefined {
  if (program === undefined || programPath(program) !== undefined) return undefined;
  return `${program.name} is not installed; on Debian and Ubuntu: apt-get install ${program.packageName}`;
}

/** `redis-server 7.0.15`. */
export function programVersion(program: ServerProgram): string {
  const { name, versionArguments } = program;
  const path = programPath(program);
  if (path === undefined) throw new Error(absenceOf(program));
  const text = versionArguments === undefined ? realpathSync(path) : runProgram(program, versionArguments).stdout;
  return `${name} ${VERSION.exec(text)?.[0] ?? 'of an unknown version'}`;
}

/** Runs an installed program to its end. */
export function runProgram(
  program: ServerProgram,
  args: readonly string[],
): { readonly status: number | null; readonly stdout: string } {
  const path = programPath(program);
  if (path === undefined) throw new Error(absenceOf(program));
  return spawnSync(path, args, { encoding: 'utf8', timeout: TIMEOUT });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
