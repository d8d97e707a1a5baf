/** `get` of single records at random offsets, from segments that lie in the page cache. */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { KIB, MIB } from '../../src/limits/limits.ts';
import type { Stream } from '../../src/index.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { recordGroups, recordPool } from '../../src/cli/load/records.ts';
import { percentile } from '../statistics.ts';
import { takeTurns, type Session, type Setting, type Values, type Workload } from '../workload.ts';
import { openStream, storeDirectory } from './sizes.ts';

const GROUP_RECORDS = 1_024;
const BYTES = 512 * MIB;
const BYTES_QUICK = 8 * MIB;
/** As much as the decoded-chunk cache holds with ease: its default is 32 MiB. */
const HOT_RECORDS = (8 * MIB) / KIB;
const READS = 20_000;
const READS_QUICK = 500;
const WINDOW = 64;
const PAGE = 4 * KIB;
/** Steps through all offsets without a pattern that a cache could follow: a prime, far from any power of two. */
const STRIDE = 7_368_787;

export const pointRead: Workload = {
  name: 'point-read',
  what: 'get of 1 KiB records: anywhere in 512 MiB, 64 at a time and one at a time, and in the newest 8 MiB',
  floor: 'reads 4 KiB anywhere in one of the segments, a blocking call each',
  figures: [
    { name: 'rate', unit: 'operations/s', better: 'higher' },
    { name: 'one at a time p50', unit: 'us', better: 'lower' },
    { name: 'one at a time p99', unit: 'us', better: 'lower' },
    { name: 'hot rate', unit: 'operations/s', better: 'higher' },
  ],
  roundsMax: 5,
  prepare,
};

async function prepare(setting: Setting): Promise<Session> {
  const { store, stream } = await openStream(setting);
  const groups = recordGroups(recordPool(KIB), GROUP_RECORDS);
  const calls = (setting.quick ? BYTES_QUICK : BYTES) / (GROUP_RECORDS * KIB);
  for (let call = 0; call < calls; call += 1) await stream.appendMany(groups[call % groups.length]!);
  await store.flush();
  const count = calls * GROUP_RECORDS;
  const reads = setting.quick ? READS_QUICK : READS;
  const segment = largestFileBelow(storeDirectory(setting));
  const file = openSync(segment.path, 'r');
  const hotFrom = Math.max(0, count - HOT_RECORDS);
  return {
    round: takeTurns(
      () => readPages(file, segment.bytes, reads),
      async () => {
        const cold = await readMany(stream, WINDOW, reads, (index) => (index * STRIDE) % count);
        const single = await readMany(stream, 1, reads, (index) => ((index + reads) * STRIDE) % count);
        const hotAt = (index: number): number => hotFrom + ((index * STRIDE) % (count - hotFrom));
        await readMany(stream, WINDOW, reads, hotAt);
        const hot = await readMany(stream, WINDOW, reads, hotAt);
        return {
          rate: cold.rate,
          'one at a time p50': single.p50,
          'one at a time p99': single.p99,
          'hot rate': hot.rate,
        };
      },
    ),
    close: async () => {
      closeSync(file);
      await store.close();
    },
  };
}

interface Reads {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

async function readMany(stream: Stream, window: number, count: number, at: (index: number) => number): Promise<Reads> {
  const { seconds, latencies } = await runClosedLoop({
    window,
    count,
    append: async (index) => {
      const record = await stream.get(at(index));
      if (record?.value?.length !== KIB) throw new Error(`get(${at(index)}) did not find its record`);
    },
  });
  return {
    rate: count / seconds,
    p50: percentile(latencies, 0.5) * 1_000,
    p99: percentile(latencies, 0.99) * 1_000,
  };
}

function readPages(file: number, bytes: number, count: number): Values {
  const buffer = Buffer.allocUnsafe(PAGE);
  const pages = Math.floor(bytes / PAGE);
  const times = new Float64Array(count);
  const begun = performance.now();
  for (let index = 0; index < count; index += 1) {
    const readBegun = performance.now();
    readSync(file, buffer, 0, PAGE, ((index * STRIDE) % pages) * PAGE);
    times[index] = performance.now() - readBegun;
  }
  const rate = count / ((performance.now() - begun) / 1_000);
  return {
    rate,
    'one at a time p50': percentile(times, 0.5) * 1_000,
    'one at a time p99': percentile(times, 0.99) * 1_000,
    'hot rate': rate,
  };
}

/** A segment, wherever the store keeps it: WAL files are larger, but lie in a directory of their own. */
function largestFileBelow(dir: string): { path: string; bytes: number } {
  let largest = { path: '', bytes: 0 };
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || entry.name.endsWith('.wal')) continue;
    const bytes = statSync(path).size;
    if (bytes > largest.bytes) largest = { path, bytes };
  }
  if (largest.bytes < PAGE) throw new Error(`${dir} holds no segment`);
  return largest;
}
