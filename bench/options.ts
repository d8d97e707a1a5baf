/** What `npm run bench` takes on its command line. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { GIB, MIB } from '../src/limits/limits.ts';

export interface BenchOptions {
  readonly quick: boolean;
  readonly json: string | undefined;
  /** Parts of names; none means all. */
  readonly only: readonly string[];
  readonly rounds: number;
  readonly dir: string;
  readonly sustainedBytes: number;
  readonly ballastBytes: number;
  readonly check: boolean;
  readonly list: boolean;
  readonly help: boolean;
}

export const HELP = `usage: npm run bench -- [options]

Measures millrace beside the floor: what the disk and a copy cost on this machine, in the same run.

  --quick           tiny sizes: shows within a minute that the suite works; its figures say nothing
  --rounds <n>      rounds of each workload (default 7, quick 2)
  --only <names>    workloads whose name contains one of these, separated by commas; --list shows the names
  --size <size>     user bytes of the sustained workload (default 8GB, quick 256MB)
  --ballast <size>  fill at most so much free memory before each workload, so that no side pays for the first
                    touch of memory (default 64GB, which means all of it; quick 0)
  --dir <path>      where to write, on a real disk (default .data below the current directory, or the system's
                    directory for temporary files)
  --json <file>     write the figures there
  --check           compare the ratios with bench/results.json; exit 1 when one is worse beyond its noise
  --list            print the names of the workloads
`;

const ROUNDS_DEFAULT = 7;
const ROUNDS_QUICK = 2;
const SUSTAINED_DEFAULT = 8e9;
const SUSTAINED_QUICK = 256 * MIB;
const BALLAST_DEFAULT = 64 * GIB;
const SIZE = /^(\d+(?:\.\d+)?) ?(B|kB|MB|GB)?$/i;
const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 };

/** Throws an error that says what is wrong. */
export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      size: { type: 'string' },
      ballast: { type: 'string' },
      dir: { type: 'string' },
      json: { type: 'string' },
      check: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { quick } = values;
  return {
    quick,
    json: values.json,
    only: values.only.flatMap((names) => names.split(',')).filter((name) => name !== ''),
    rounds: values.rounds === undefined ? (quick ? ROUNDS_QUICK : ROUNDS_DEFAULT) : parseCount('rounds', values.rounds),
    dir: workingDirectory(values.dir),
    sustainedBytes: parseSize('size', values.size, quick ? SUSTAINED_QUICK : SUSTAINED_DEFAULT),
    ballastBytes: parseSize('ballast', values.ballast, quick ? 0 : BALLAST_DEFAULT),
    check: values.check,
    list: values.list,
    help: values.help,
  };
}

export function parseCount(name: string, text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new Error(`--${name} takes a whole number from 1 on, not ${JSON.stringify(text)}`);
}

export function parseSize(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const match = SIZE.exec(text);
  const size = match === null ? NaN : Number(match[1]) * (UNITS[(match[2] ?? 'B').toLowerCase()] ?? NaN);
  if (Number.isFinite(size)) return Math.round(size);
  throw new Error(`--${name} takes a size such as 250MB, not ${JSON.stringify(text)}`);
}

/** The directory asked for, or one below the current directory where that can be written to. */
export function workingDirectory(asked: string | undefined): string {
  if (asked !== undefined) return resolve(asked);
  try {
    accessSync('.', constants.W_OK);
    return resolve('.data');
  } catch {
    return tmpdir();
  }
}

/** Makes the directory; its parents may be missing. */
export function makeDirectory(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}

/** The folder of the benchmarks in the checkout, where runs that are compared with are kept. */
const SOURCES = join(import.meta.dirname, '..', '..', 'bench');
export const COMMITTED_RESULTS: string = join(SOURCES, 'results.json');
export const COMMITTED_PEER_RESULTS: string = join(SOURCES, 'peers', 'results.json');
