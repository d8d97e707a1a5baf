/** The process of one step of one peer. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { answer, jobOf } from '../processes.ts';
import { KIB } from '../../src/limits/limits.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import { PEERS } from './adapters.ts';
import { Producer } from './ingest.ts';
import type { Peer, PeerLog } from './peer.ts';
import { processorSeconds } from './processor.ts';
import { getMany, getOneByOne, scanAll } from './reading.ts';

export interface PeerJob {
  readonly peer: string;
  readonly step: 'ingest' | 'load' | 'load and die' | 'read' | 'reopen';
  readonly dir: string;
  readonly recordBytes: number;
  readonly window: number;
  readonly streams: number;
  /** Records to append at most, or that were appended. */
  readonly records: number;
  /** Of an ingest, or of a load: it ends with whichever of both comes first. */
  readonly seconds: number;
  readonly reads: number;
}

/** What a step answers: values by figure. */
export type PeerValues = Readonly<Record<string, number>>;

/** Long enough for what runs while records are flushed to have started, and to be compiled. */
const WARM_UP_SHARE = 1 / 2;
const MILLION = 1e6;
/** What `st_blocks` counts in. */
const BLOCK_BYTES = 512;

const job = jobOf<PeerJob>();
const peer = PEERS.find(({ name }) => name === job.peer);
if (peer === undefined) throw new Error(`there is no peer ${job.peer}`);
await answer(await stepOf(job.step)(peer, job));

function stepOf(step: PeerJob['step']): (peer: Peer, job: PeerJob) => Promise<PeerValues> {
  return { ingest, load, 'load and die': loadAndDie, read, reopen }[step];
}

async function ingest({ open, groups }: Peer, { dir, recordBytes, ...rest }: PeerJob): Promise<PeerValues> {
  const producer = new Producer(recordPool(recordBytes));
  const log = await open({ dir, recordBytes, ...rest, ...producer.answers });
  const limits = { ...rest, groups };
  await producer.run(log, {
    ...limits,
    records: Math.ceil(rest.records * WARM_UP_SHARE),
    seconds: rest.seconds * WARM_UP_SHARE,
  });
  const processorBefore = processorSeconds(log);
  const { records, seconds, p50, p99 } = await producer.run(log, limits);
  const processor = processorSeconds(log) - processorBefore;
  const peakBytes = process.resourceUsage().maxRSS * KIB + (log.server?.peakBytes() ?? 0);
  await log.close();
  return known({
    rate: records / seconds,
    'ack p50': p50,
    'ack p99': p99,
    'processor time a million records': processor / (records / MILLION),
    'peak memory': peakBytes,
  });
}

async function load(peer: Peer, job: PeerJob): Promise<PeerValues> {
  const { log, records } = await fill(peer, job);
  await log.close();
  return { records, 'disk bytes a user byte': diskBytes(job.dir) / (records * job.recordBytes) };
}

/** Everything is acknowledged, nothing is closed, and the process is gone. */
async function loadAndDie(peer: Peer, job: PeerJob): Promise<PeerValues> {
  const { log, records } = await fill(peer, job);
  await log.server?.kill();
  await answer({ records });
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}

async function fill(
  { open, groups }: Peer,
  { dir, recordBytes, ...rest }: PeerJob,
): Promise<{ log: PeerLog; records: number }> {
  const producer = new Producer(recordPool(recordBytes));
  const log = await open({ dir, recordBytes, ...rest, ...producer.answers });
  const { records } = await producer.run(log, { ...rest, groups });
  return { log, records };
}

async function read({ open, gets }: Peer, job: PeerJob): Promise<PeerValues> {
  const { dir, streams, records, recordBytes, reads } = job;
  const log = await open({ dir, streams, recordBytes, ...new Producer([]).answers });
  const found = await log.count();
  if (found !== records) throw new Error(`${found} records are there where ${records} were written`);
  // Once to compile the code and to fill the page cache.
  await scanAll(log, records, recordBytes);
  const scanned = await scanAll(log, records, recordBytes);
  const single = gets === false ? {} : await getsOf(log, records, reads, recordBytes);
  await log.close();
  return known({
    scan: records / scanned.seconds,
    'scan processor time a million records': scanned.processorSeconds / (records / MILLION),
    ...single,
  });
}

async function getsOf(log: PeerLog, records: number, reads: number, recordBytes: number): Promise<PeerValues> {
  const gets = await getMany(log, records, reads, recordBytes);
  const { p50, p99 } = await getOneByOne(log, records, reads, recordBytes);
  return { gets, 'get p50': p50, 'get p99': p99 };
}

/** From nothing to a log that has given its last record and taken another one. */
async function reopen({ open, groups, gets }: Peer, job: PeerJob): Promise<PeerValues> {
  const { dir, streams, recordBytes } = job;
  const producer = new Producer(recordPool(recordBytes));
  const begun = performance.now();
  const log = await open({ dir, streams, recordBytes, ...producer.answers });
  const found = await log.count();
  if (found > 0 && gets !== false) await log.get(found - 1);
  await producer.run(log, { window: 1, groups, streams, records: 1, seconds: Infinity });
  const milliseconds = performance.now() - begun;
  await log.close();
  return { time: milliseconds, missing: Math.max(0, job.records - found) };
}

/** Without what the system does not tell. */
function known(values: PeerValues): PeerValues {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => Number.isFinite(value)));
}

/** Space taken on the disk: holes in files do not count, and neither does what is deleted. */
function diskBytes(dir: string): number {
  let bytes = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).blocks * BLOCK_BYTES;
  }
  return bytes;
}
