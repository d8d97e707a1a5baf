/** `npm run bench:objects`: what merging and the embedded coordinator are held to, beside what they reach. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GIB, MIB } from '../../src/limits/limits.ts';
import { formatValue } from '../format.ts';
import { installCeph, startCeph } from '../../test/support/ceph-server.ts';
import { machineFacts, machineText } from '../../src/cli/machine.ts';
import { makeDirectory, parseSize, workingDirectory } from '../options.ts';
import { runChild } from '../processes.ts';
import type { Unit } from '../workload.ts';
import { measurePostgres } from './postgres.ts';
import type { CoordinatorAnswer, CoordinatorJob } from './coordinator-child.ts';
import type { MergeAnswer, MergeJob } from './merge-child.ts';

const HELP = `usage: npm run bench:objects -- [options]

Merges objects in a directory, drives the embedded coordinator, and lets writers commit to a PostgreSQL that is started
for it, each in a process of its own, and says which targets are met.

  --size <size>  user bytes that are merged (default 1GB, quick 32MB)
  --runs <n>     runs in the coordinator (default 1,000,000, quick 20,000)
  --dir <path>   where to write, on a real disk
  --quick        tiny sizes: shows that it works; its figures say nothing
`;

const EXIT_MISSED = 1;
const EXIT_USAGE = 2;
const TIMEOUT = 15 * 60_000;
const RUNS_PER_COMMIT = 10;
/** What the test server, which keeps all in memory, has room for together with the outputs. */
const BUCKET_BYTES_MAX = 256 * MIB;
const BUCKET = 'millrace-bench';
const WRITERS = 8;
const POSTGRES_COMMITS = 8_000;
const POSTGRES_COMMITS_QUICK = 160;
const MEMORY_MAX: number = 64 * MIB;

interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: Unit | 'times';
  readonly target?: { readonly bound: 'at least' | 'at most'; readonly limit: number };
}

try {
  const { values } = parseArgs({
    options: {
      size: { type: 'string' },
      runs: { type: 'string' },
      dir: { type: 'string' },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
  } else {
    const bytes = parseSize('size', values.size, values.quick ? 32 * MIB : GIB);
    const commits = Math.ceil(Number(values.runs ?? (values.quick ? 20_000 : 1_000_000)) / RUNS_PER_COMMIT);
    if (!Number.isSafeInteger(commits) || commits < 1) throw new Error('--runs takes a whole number from 1 on');
    const dir = mkdtempSync(join(makeDirectory(workingDirectory(values.dir)), 'millrace-objects-'));
    try {
      process.exitCode = report(dir, await measureAll(dir, bytes, commits, values.quick));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
} catch (error) {
  process.stderr.write(`npm run bench:objects: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = EXIT_USAGE;
}

async function measureAll(dir: string, bytes: number, commits: number, quick: boolean): Promise<Row[]> {
  const anew = { bytes, compression: 'lz4', chunkRecords: 48, classes: 1 } as const;
  const whole = { bytes, compression: 'none', chunkRecords: 240, classes: 1 } as const;
  return [
    ...mergeRows('merge, compressed anew', 400e6, await mergeIn(join(dir, 'anew'), anew)),
    ...mergeRows('merge, passed through', 800e6, await mergeIn(join(dir, 'whole'), whole)),
    ...(await bucketRows(join(dir, 'bucket'), Math.min(bytes, BUCKET_BYTES_MAX))),
    ...(await coordinatorRows(join(dir, 'coordinator'), commits)),
    ...(await postgresRows(quick ? POSTGRES_COMMITS_QUICK : POSTGRES_COMMITS)),
  ];
}

async function mergeIn(dir: string, job: Omit<MergeJob, 'action' | 'dir'>): Promise<MergeAnswer> {
  makeDirectory(dir);
  await runChild('objects/merge-child.js', { ...job, dir, action: 'fill' } satisfies MergeJob, { timeout: TIMEOUT });
  const merge: MergeJob = { ...job, dir, action: 'merge' };
  const found = (await runChild('objects/merge-child.js', merge, { timeout: TIMEOUT })) as MergeAnswer;
  rmSync(dir, { recursive: true, force: true });
  return found;
}

/** What counts on S3 is memory: parts are held until they have arrived. */
async function bucketRows(dir: string, bytes: number): Promise<Row[]> {
  const obstacle = await installCeph();
  if (obstacle !== undefined) {
    process.stderr.write(`npm run bench:objects: merges on S3 are left out: ${obstacle}\n`);
    return [];
  }
  const server = await startCeph();
  try {
    await server.createBucket(BUCKET);
    const rows: Row[] = [];
    for (const classes of [1, 4]) {
      const prefix = `classes-${classes}/`;
      const bucket = { bucket: BUCKET, prefix, endpoint: server.endpoint, credentials: server.owner };
      const job = { bytes, compression: 'lz4', chunkRecords: 48, classes, bucket } as const;
      const { peakMemoryBytes, userBytes, seconds } = await mergeIn(join(dir, String(classes)), job);
      const name = `merge on S3, ${classes === 1 ? 'one output' : `${classes} outputs`} at once`;
      rows.push(
        { what: `${name}: user bytes of input`, value: userBytes / seconds, unit: 'bytes/s' },
        {
          what: `${name}: growth of the process`,
          value: peakMemoryBytes,
          unit: 'bytes',
          target: { bound: 'at most', limit: MEMORY_MAX },
        },
      );
    }
    return rows;
  } finally {
    await server.stop();
  }
}

function mergeRows(name: string, rate: number, found: MergeAnswer): Row[] {
  const { seconds, readBytes, userBytes, peakBufferedBytes, peakMemoryBytes } = found;
  const memory = { bound: 'at most', limit: MEMORY_MAX } as const;
  return [
    { what: `${name}: input as stored`, value: readBytes / seconds, unit: 'bytes/s' },
    {
      what: `${name}: user bytes of input`,
      value: userBytes / seconds,
      unit: 'bytes/s',
      target: { bound: 'at least', limit: rate },
    },
    { what: `${name}: input buffers at most`, value: peakBufferedBytes, unit: 'bytes', target: memory },
    { what: `${name}: growth of the process`, value: peakMemoryBytes, unit: 'bytes', target: memory },
    { what: `${name}: chunks passed through`, value: found.chunksPassed, unit: 'records' },
    { what: `${name}: chunks written`, value: found.chunksWritten, unit: 'records' },
    {
      what: `${name}: fewer requests of a scan`,
      value: found.requestsBefore / found.requestsAfter,
      unit: 'times',
      target: { bound: 'at least', limit: 10 },
    },
  ];
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
    if (target === undefined) return `${what.padEnd(52)}${figure}`;
    const met = isMet(value, target) ? 'met' : 'missed';
    return `${what.padEnd(52)}${figure}  ${target.bound} ${formatted(target.limit, unit).padEnd(12)} ${met}`;
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
