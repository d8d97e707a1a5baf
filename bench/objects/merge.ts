/** Merges in a directory and on S3: their rate beside a copy of the same bytes, and what the process grows by. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { MIB } from '../../src/limits/limits.ts';
import { installCeph, startCeph } from '../../test/support/ceph-server.ts';
import { makeDirectory } from '../options.ts';
import { runChild } from '../processes.ts';
import { spreadOf } from '../statistics.ts';
import type { MergeAnswer, MergeJob } from './merge-child.ts';
import type { Row } from './row.ts';

/** What the test server, which keeps all in memory, has room for together with the outputs. */
const BUCKET_BYTES_MAX = 256 * MIB;
const BUCKET = 'millrace-bench';
const MEMORY_MAX: number = 64 * MIB;
const TIMEOUT = 15 * 60_000;
/** Records of a chunk that is as large as writers make them, and of one of an append or two. */
const FULL_CHUNK_RECORDS = 60;
const SMALL_CHUNK_RECORDS = 16;
const STREAMS = 64;
const MANY_STREAMS = 1_024;
const MANY_STREAMS_QUICK = 64;

interface Case {
  readonly name: string;
  /** User bytes of input a second. */
  readonly rate: number;
  readonly job: Pick<MergeJob, 'compression' | 'streams' | 'chunkRecords'>;
}

/** All in a directory, so many times each. */
export async function directoryRows(dir: string, bytes: number, rounds: number, quick: boolean): Promise<Row[]> {
  const manyStreams = quick ? MANY_STREAMS_QUICK : MANY_STREAMS;
  const small = { streams: manyStreams, chunkRecords: SMALL_CHUNK_RECORDS };
  const full = { streams: STREAMS, chunkRecords: FULL_CHUNK_RECORDS };
  const cases: Case[] = [
    { name: 'merge, compressed anew', rate: 400e6, job: { compression: 'lz4', ...small } },
    { name: 'merge, compressed and passed through', rate: 400e6, job: { compression: 'lz4', ...full } },
    { name: 'merge, uncompressed and passed through', rate: 800e6, job: { compression: 'none', ...full } },
  ];
  const found: MergeAnswer[][] = cases.map(() => []);
  // They take turns, so that a minute in which the disk is slow is shared.
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { job }] of cases.entries()) {
      found[index]?.push(await mergeIn(join(dir, String(index)), { bytes, classes: 1, ...job }));
    }
  }
  return cases.flatMap((of, index) => mergeRows(of, found[index] ?? []));
}

/** What counts on S3 is memory: parts are held until they have arrived. */
export async function bucketRows(dir: string, bytes: number): Promise<Row[]> {
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
      const size = { bytes: Math.min(bytes, BUCKET_BYTES_MAX), streams: STREAMS, chunkRecords: FULL_CHUNK_RECORDS };
      const job = { ...size, compression: 'lz4', classes, bucket } as const;
      const { rewriteMemoryBytes, userBytes, seconds } = await mergeIn(join(dir, String(classes)), job);
      const name = `merge on S3, ${classes === 1 ? 'one output' : `${classes} outputs`} at once`;
      const target = { bound: 'at most', limit: MEMORY_MAX } as const;
      rows.push(
        { what: `${name}: user bytes of input`, value: userBytes / seconds, unit: 'bytes/s' },
        { what: `${name}: growth of the process`, value: rewriteMemoryBytes, unit: 'bytes', target },
      );
    }
    return rows;
  } finally {
    await server.stop();
  }
}

async function mergeIn(dir: string, job: Omit<MergeJob, 'action' | 'dir'>): Promise<MergeAnswer> {
  makeDirectory(dir);
  await runChild('objects/merge-child.js', { ...job, dir, action: 'fill' } satisfies MergeJob, { timeout: TIMEOUT });
  const merge: MergeJob = { ...job, dir, action: 'merge' };
  const found = (await runChild('objects/merge-child.js', merge, { timeout: TIMEOUT })) as MergeAnswer;
  rmSync(dir, { recursive: true, force: true });
  return found;
}

/** Rates are medians, memory is the most that any round took. */
function mergeRows({ name, rate }: Case, rounds: readonly MergeAnswer[]): Row[] {
  const median = (of: (round: MergeAnswer) => number): number => spreadOf(rounds.map(of)).median;
  const most = (of: (round: MergeAnswer) => number): number => spreadOf(rounds.map(of)).max;
  const memory = { bound: 'at most', limit: MEMORY_MAX } as const;
  return [
    {
      what: `${name}: user bytes of input`,
      value: median(({ userBytes, seconds }) => userBytes / seconds),
      unit: 'bytes/s',
      target: { bound: 'at least', limit: rate },
    },
    { what: `${name}: input as stored`, value: median((found) => found.readBytes / found.seconds), unit: 'bytes/s' },
    {
      what: `${name}: of what a copy reaches`,
      value: median(({ floorSeconds = 0, seconds }) => floorSeconds / seconds),
      unit: 'share',
    },
    { what: `${name}: input buffers`, value: most((found) => found.peakBufferedBytes), unit: 'bytes', target: memory },
    {
      what: `${name}: growth of process`,
      value: most((found) => found.rewriteMemoryBytes),
      unit: 'bytes',
      target: memory,
    },
    { what: `${name}: growth with the commit`, value: most((found) => found.peakMemoryBytes), unit: 'bytes' },
    { what: `${name}: chunks passed`, value: median((found) => found.chunksPassed), unit: 'records' },
    { what: `${name}: chunks written`, value: median((found) => found.chunksWritten), unit: 'records' },
    {
      what: `${name}: requests of a scan`,
      value: median(({ requestsBefore, requestsAfter }) => requestsBefore / requestsAfter),
      unit: 'times',
      target: { bound: 'at least', limit: 10 },
    },
  ];
}
