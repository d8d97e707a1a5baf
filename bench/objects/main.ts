/** `npm run bench:objects`: what merging and the embedded coordinator are held to, beside what they reach. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GIB, MIB } from '../../src/limits/limits.ts';
import { formatValue } from '../format.ts';
import { machineFacts, machineText } from '../../src/cli/machine.ts';
import { makeDirectory, parseCount, parseSize, workingDirectory } from '../options.ts';
import { runChild } from '../processes.ts';
import { bucketRows, directoryRows } from './merge.ts';
import { measurePostgres } from './postgres.ts';
import type { CoordinatorAnswer, CoordinatorJob } from './coordinator-child.ts';
import type { Row } from './row.ts';

const HELP = `usage: npm run bench:objects -- [options]

Merges objects in a directory and on S3, drives the embedded coordinator, and lets writers commit to a PostgreSQL that
is started for it, each in a process of its own, and says which targets are met.

  --size <size>  user bytes that are merged (default 1GB, quick 32MB)
  --runs <n>     runs in the coordinator (default 1,000,000, quick 20,000)
  --rounds <n>   merges of each kind in a directory, of which the median counts (default 3, quick 1)
  --only <names> of merge, s3, coordinator, postgres, separated by commas (default all)
  --dir <path>   where to write, on a real disk
  --quick        tiny sizes: shows that it works; its figures say nothing
`;

const EXIT_MISSED = 1;
const EXIT_USAGE = 2;
const TIMEOUT = 15 * 60_000;
const RUNS_PER_COMMIT = 10;
const ROUNDS = 3;
const PARTS = ['merge', 's3', 'coordinator', 'postgres'] as const;
const WRITERS = 8;
const POSTGRES_COMMITS = 8_000;
const POSTGRES_COMMITS_QUICK = 160;

type Part = (typeof PARTS)[number];

interface Sizes {
  readonly bytes: number;
  readonly commits: number;
  readonly rounds: number;
  readonly quick: boolean;
}

try {
  const { values } = parseArgs({
    options: {
      size: { type: 'string' },
      runs: { type: 'string' },
      rounds: { type: 'string' },
      only: { type: 'string' },
      dir: { type: 'string' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
  } else {
    const { quick } = values;
    const bytes = parseSize('size', values.size, quick ? 32 * MIB : GIB);
    const runs = values.runs === undefined ? (quick ? 20_000 : 1_000_000) : parseCount('runs', values.runs);
    const rounds = values.rounds === undefined ? (quick ? 1 : ROUNDS) : parseCount('rounds', values.rounds);
    const sizes = { bytes, commits: Math.ceil(runs / RUNS_PER_COMMIT), rounds, quick };
    const parts = partsOf(values.only);
    const dir = mkdtempSync(join(makeDirectory(workingDirectory(values.dir)), 'millrace-objects-'));
    try {
      process.exitCode = report(dir, await measure(dir, parts, sizes));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
} catch (error) {
  process.stderr.write(`npm run bench:objects: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = EXIT_USAGE;
}

function partsOf(only: string | undefined): readonly Part[] {
  if (only === undefined) return PARTS;
  const names = only.split(',');
  const unknown = names.find((name) => !PARTS.some((part) => part === name));
  if (unknown !== undefined) throw new Error(`--only knows ${PARTS.join(', ')}, not ${JSON.stringify(unknown)}`);
  return PARTS.filter((part) => names.includes(part));
}

async function measure(dir: string, parts: readonly Part[], sizes: Sizes): Promise<Row[]> {
  const { bytes, commits, rounds, quick } = sizes;
  const rows: Record<Part, () => Promise<Row[]>> = {
    merge: () => directoryRows(join(dir, 'merge'), bytes, rounds, quick),
    s3: () => bucketRows(join(dir, 'bucket'), bytes),
    coordinator: () => coordinatorRows(join(dir, 'coordinator'), commits),
    postgres: () => postgresRows(quick ? POSTGRES_COMMITS_QUICK : POSTGRES_COMMITS),
  };
  const found: Row[] = [];
  for (const part of parts) found.push(...(await rows[part]()));
  return found;
}

async function coordinatorRows(dir: string, commits: number): Promise<Row[]> {
  makeDirectory(dir);
  const run = async (action: CoordinatorJob['action']): Promise<CoordinatorAnswer> => {
    const job: CoordinatorJob = { action, dir, commits };
    return (await runChild('objects/coordinator-child.js', job, { timeout: TIMEOUT })) as CoordinatorAnswer;
  };
  const committed = await run('commit');
  const opened = await run('open');
  const runs = (commits * RUNS_PER_COMMIT).toLocaleString('en-US');
  return [
    {
      what: 'coordinator: commits of 10 runs',
      value: commits / committed.seconds,
      unit: 'operations/s',
      target: { bound: 'at least', limit: 20_000 },
    },
    { what: `coordinator: finding 10 of ${runs} runs`, value: opened.findMicroseconds, unit: 'us' },
    {
      what: `coordinator: opening with ${runs} runs`,
      value: opened.seconds,
      unit: 'seconds',
      target: { bound: 'at most', limit: 2 },
    },
  ];
}

async function postgresRows(commits: number): Promise<Row[]> {
  const found = await measurePostgres(WRITERS, commits, TIMEOUT);
  if (typeof found === 'string') {
    process.stderr.write(`npm run bench:objects: PostgreSQL is left out: ${found}\n`);
    return [];
  }
  const name = `PostgreSQL, ${WRITERS} writers at once`;
  return [
    { what: `${name}: commits of 10 runs`, value: commits / found.seconds, unit: 'operations/s' },
    { what: `${name}: a commit, p50`, value: found.p50Milliseconds, unit: 'ms' },
    { what: `${name}: a commit, p99`, value: found.p99Milliseconds, unit: 'ms' },
    { what: `${name}: deadlocks ended by the server`, value: found.deadlocks, unit: 'operations' },
    {
      what: `${name}: errors that reach the user`,
      value: found.errors,
      unit: 'operations',
      target: { bound: 'at most', limit: 0 },
    },
  ];
}

function report(dir: string, rows: readonly Row[]): number {
  const lines = rows.map(({ what, value, unit, target }) => {
    const figure = formatted(value, unit).padStart(14);
    if (target === undefined) return `${what.padEnd(64)}${figure}`;
    const met = isMet(value, target) ? 'met' : 'missed';
    return `${what.padEnd(64)}${figure}  ${target.bound} ${formatted(target.limit, unit).padEnd(12)} ${met}`;
  });
  process.stdout.write(`${machineText(machineFacts(dir))}\n${lines.join('\n')}\n`);
  return rows.every(({ value, target }) => target === undefined || isMet(value, target)) ? 0 : EXIT_MISSED;
}

function isMet(value: number, { bound, limit }: NonNullable<Row['target']>): boolean {
  return bound === 'at least' ? value >= limit : value <= limit;
}

function formatted(value: number, unit: Row['unit']): string {
  return unit === 'times' ? `${value.toFixed(1)}x` : formatValue(value, unit);
}
