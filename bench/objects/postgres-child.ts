/** Started by `postgres.ts`: writers, each with a coordinator of its own, commit to the same streams at once. */
import { build } from 'hdr-histogram-js';
import { SeededRandom } from '../../src/base/random.ts';
import type { Coordinator, ObjectCommit } from '../../src/coordinator/coordinator.ts';
import { checkPostgresOptions, type PostgresOptions } from '../../src/coordinator/postgres/options.ts';
import { openPostgresCoordinator } from '../../src/coordinator/postgres/postgres-coordinator.ts';
import { STREAM_CONFIG_DEFAULT } from '../../src/record/stream-config.ts';
import { answer, jobOf } from '../processes.ts';

export interface PostgresJob {
  readonly options: PostgresOptions;
  readonly writers: number;
  /** Of all writers together. */
  readonly commits: number;
}

export interface PostgresAnswer {
  readonly seconds: number;
  /** Of one commit: what its writer waits. */
  readonly p50Milliseconds: number;
  readonly p99Milliseconds: number;
  readonly errors: number;
}

const STREAMS = 40;
/** Of each commit, drawn anew: writers meet at some of them. */
const RUNS = 10;
const RECORDS = 100;
const RUN_BYTES = 4_096;

const job = jobOf<PostgresJob>();
const settings = checkPostgresOptions(job.options);
const coordinators: Coordinator[] = [];
for (let writer = 0; writer < job.writers; writer += 1) coordinators.push(await openPostgresCoordinator(settings));
const streams = await createStreams();
const latencies = build({ numberOfSignificantValueDigits: 3 });
let errors = 0;
const begun = performance.now();
await Promise.all(coordinators.map((coordinator, writer) => write(coordinator, writer)));
const seconds = (performance.now() - begun) / 1_000;
for (const coordinator of coordinators) await coordinator.close();
await answer({
  seconds,
  p50Milliseconds: latencies.getValueAtPercentile(50) / 1_000,
  p99Milliseconds: latencies.getValueAtPercentile(99) / 1_000,
  errors,
} satisfies PostgresAnswer);

async function createStreams(): Promise<number[]> {
  const [first] = coordinators;
  if (first === undefined) throw new Error('there is at least one writer');
  const created: number[] = [];
  for (let stream = 0; stream < STREAMS; stream += 1) {
    created.push((await first.createStream(`stream-${stream}`, STREAM_CONFIG_DEFAULT)).stream.streamId);
  }
  return created;
}

/** One commit after the other, as a writer without a WAL does that has one object under way. */
async function write(coordinator: Coordinator, writer: number): Promise<void> {
  const commits = Math.ceil(job.commits / job.writers);
  const random = new SeededRandom(writer + 1);
  const { keys } = await coordinator.reserveObjects(commits);
  for (const key of keys) {
    const commit = commitOf(key, random);
    const start = performance.now();
    try {
      await coordinator.commitObject(commit);
    } catch (error) {
      errors += 1;
      process.stderr.write(`a commit failed: ${String(error)}\n`);
    }
    latencies.recordValue(Math.max(1, Math.round((performance.now() - start) * 1_000)));
  }
}

function commitOf(key: string, random: SeededRandom): ObjectCommit {
  const chosen = new Set<number>();
  while (chosen.size < RUNS) chosen.add(streams[random.uint32() % streams.length] as number);
  const runs = [...chosen]
    .sort((left, right) => left - right)
    .map((streamId, index) => ({
      streamId,
      firstOffset: 0,
      nextOffset: RECORDS,
      records: RECORDS,
      userBytes: RECORDS * 10,
      trackingBytes: 0,
      firstTimestamp: 1,
      lastTimestamp: 1,
      epoch: 0,
      byteOffset: (index + 1) * RUN_BYTES,
      byteLength: RUN_BYTES,
      chunks: 1,
    }));
  return { key, bytes: (RUNS + 2) * RUN_BYTES, checksum: '0'.repeat(16), relative: true, runs };
}
