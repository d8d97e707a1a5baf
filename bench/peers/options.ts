/** What `npm run bench:peers` takes on its command line. */
import { parseArgs } from 'node:util';
import { GIB } from '../../src/limits/limits.ts';
import { parseCount, parseSize, workingDirectory } from '../options.ts';

export interface PeerBenchOptions {
  readonly quick: boolean;
  readonly json: string | undefined;
  /** Parts of names of workloads, and of peers; none means all. */
  readonly only: readonly string[];
  readonly peers: readonly string[];
  /** Of engines that acknowledge what is on disk; the others have one. */
  readonly rounds: number;
  /** Of each ingest. */
  readonly seconds: number;
  /** No round begins that would end later. */
  readonly minutes: number;
  readonly dir: string;
  readonly ballastBytes: number;
  readonly help: boolean;
}

export const PEER_HELP = `usage: npm run bench:peers -- [options]

Compares millrace with other engines that keep records, and with the floor: the same records, windows and machine, in
rounds that interleave them, each run in a process of its own.

  --quick           tiny sizes: shows that the suite works; its figures say nothing
  --rounds <n>      rounds (default 3, quick 1); engines that acknowledge what is not on disk have one
  --seconds <n>     seconds of each ingest, at most; a load of what is read takes at most four times that
                    (default 1, quick 0.15)
  --minutes <n>     begin no round that would probably end later than that (default 25); the first is always run
  --only <names>    workloads whose name contains one of these, separated by commas
  --peers <names>   engines whose name contains one of these
  --ballast <size>  fill at most so much free memory before each run (default 64GB, quick 0)
  --dir <path>      where to write, on a real disk (default .data below the current directory)
  --json <file>     write the figures there
`;

const ROUNDS_DEFAULT = 3;
const ROUNDS_QUICK = 1;
const SECONDS_DEFAULT = 1;
const SECONDS_QUICK = 0.15;
const MINUTES_DEFAULT = 25;
const BALLAST_DEFAULT = 64 * GIB;

/** Throws an error that says what is wrong. */
export function parsePeerOptions(args: readonly string[]): PeerBenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      minutes: { type: 'string' },
      only: { type: 'string', multiple: true, default: [] },
      peers: { type: 'string', multiple: true, default: [] },
      ballast: { type: 'string' },
      dir: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { quick } = values;
  return {
    quick,
    json: values.json,
    only: split(values.only),
    peers: split(values.peers),
    rounds: values.rounds === undefined ? (quick ? ROUNDS_QUICK : ROUNDS_DEFAULT) : parseCount('rounds', values.rounds),
    seconds: parsePositive('seconds', values.seconds, quick ? SECONDS_QUICK : SECONDS_DEFAULT),
    minutes: parsePositive('minutes', values.minutes, MINUTES_DEFAULT),
    dir: workingDirectory(values.dir),
    ballastBytes: parseSize('ballast', values.ballast, quick ? 0 : BALLAST_DEFAULT),
    help: values.help,
  };
}

function parsePositive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`--${name} takes a number above 0, not ${JSON.stringify(text)}`);
}

function split(names: readonly string[]): string[] {
  return names.flatMap((name) => name.split(',')).filter((name) => name !== '');
}
