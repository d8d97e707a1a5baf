/** One run from an empty directory to the figures. Throws at the first record that is not what it must be. */
import { loadChecksum } from '../../src/codec/checksum.ts';
import { startProgress } from '../../src/cli/progress.ts';
import { counted } from '../../src/cli/text.ts';
import { open, type Store, type Stream } from '../../src/index.ts';
import { checkStreams } from './check.ts';
import { loadCorpus } from './corpus.ts';
import { ingestAndCrash } from './crash.ts';
import { Expectation } from './expectation.ts';
import { ingest, openStreams } from './ingest.ts';
import { figuresOf, newHistograms } from './latency.ts';
import { Plan } from './plan.ts';
import type { Figures, Phase } from './report.ts';

/** The child is killed somewhere in here: another place in every run. */
const KILL_SHARE_LEAST = 0.5;
const KILL_SHARE_RANGE = 0.1;

export interface RunOptions {
  readonly bytes: number;
  /** An empty directory. */
  readonly dir: string;
  readonly keep: boolean;
  readonly signal: AbortSignal;
}

export async function run({ bytes, dir, keep, signal }: RunOptions): Promise<Figures> {
  await loadChecksum();
  const begun = performance.now();
  const plan = new Plan(loadCorpus(), bytes);
  const expectation = new Expectation(plan);
  const crashed = await crashPhase(plan, expectation, bytes, dir, signal);
  const acknowledged = expectation.totalRecords;
  const openedAt = performance.now();
  const store = await open(dir);
  const recovery = performance.now() - openedAt;
  try {
    const streams = await openStreams(store, plan);
    const { recovery: found } = store.stats();
    const proven = await checkPhase('check after recovery', streams, plan, expectation);
    signal.throwIfAborted();
    const rest = await ingestPhase(store, streams, plan, expectation);
    signal.throwIfAborted();
    const readBack = await checkPhase('read everything back', streams, plan, expectation);
    checkComplete(readBack, plan);
    const infos = await Promise.all(streams.map((stream) => stream.info()));
    return {
      phases: [crashed, proven, rest, readBack],
      recovery: {
        duration: recovery,
        walRecords: found?.records ?? 0,
        acknowledged,
        unreported: proven.records - acknowledged,
      },
      streams: streams.length,
      userBytes: infos.reduce((sum, { userBytes }) => sum + userBytes, 0),
      storedBytes: infos.reduce((sum, { storedBytes }) => sum + storedBytes, 0),
      walMode: store.stats().wal?.mode ?? 'not at all',
      directory: dir,
      kept: keep,
      duration: performance.now() - begun,
    };
  } finally {
    await store.close();
  }
}

async function crashPhase(
  plan: Plan,
  expectation: Expectation,
  bytes: number,
  dir: string,
  signal: AbortSignal,
): Promise<Phase> {
  const share = KILL_SHARE_LEAST + Math.random() * KILL_SHARE_RANGE;
  const bar = startProgress('ingest in a child process, to be killed', plan.totalBytes);
  try {
    const { duration, latency } = await ingestAndCrash({
      dir,
      bytes,
      killAtBytes: share * plan.totalBytes,
      expectation,
      signal,
      progress: () => {
        bar.update(expectation.bytes, `${counted(expectation.totalRecords, 'record')} acknowledged`);
      },
    });
    const name = `ingest, killed at ${(share * 100).toFixed(0)} %`;
    return { name, records: expectation.totalRecords, bytes: expectation.bytes, duration, latency };
  } finally {
    bar.end();
  }
}

async function checkPhase(
  name: string,
  streams: readonly Stream[],
  plan: Plan,
  expectation: Expectation,
): Promise<Phase> {
  const bar = startProgress(name, expectation.bytes);
  const start = performance.now();
  try {
    const { records, bytes } = await checkStreams(streams, plan, expectation, (read) => {
      bar.update(read, '');
    });
    return { name, records, bytes, duration: performance.now() - start };
  } finally {
    bar.end();
  }
}

async function ingestPhase(
  store: Store,
  streams: readonly Stream[],
  plan: Plan,
  expectation: Expectation,
): Promise<Phase> {
  const before = { records: expectation.totalRecords, bytes: expectation.bytes };
  const latency = newHistograms();
  const bar = startProgress('ingest the rest', plan.totalBytes - before.bytes);
  const start = performance.now();
  try {
    await ingest(streams, plan, {
      latency,
      acknowledged: (stream, first, next) => {
        expectation.acknowledge(stream, first, next);
        bar.update(expectation.bytes - before.bytes, '');
      },
    });
    const duration = performance.now() - start;
    // Outside the measure: a reader's figures are those of segments then.
    await store.flush();
    return {
      name: 'ingest the rest',
      records: expectation.totalRecords - before.records,
      bytes: expectation.bytes - before.bytes,
      duration,
      latency: figuresOf(latency),
    };
  } finally {
    bar.end();
  }
}

function checkComplete({ records, bytes }: Phase, plan: Plan): void {
  const planned = plan.totals.reduce((sum, total) => sum + total, 0);
  if (records === planned && bytes === plan.totalBytes) return;
  throw new Error(`${records} records with ${bytes} bytes were read, ${planned} with ${plan.totalBytes} were appended`);
}
