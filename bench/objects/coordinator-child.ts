/** Started by `coordinator.ts`: commits objects to an embedded coordinator on disk, then finds runs, or opens it. */
import { join } from 'node:path';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import type { ObjectCommit } from '../../src/coordinator/coordinator.ts';
import { STREAM_CONFIG_DEFAULT } from '../../src/record/stream-config.ts';
import { answer, jobOf } from '../processes.ts';
import { SAMPLE_RECORDS, SAMPLE_RUN_BYTES, sampleRunOf } from '../sample-run.ts';

export interface CoordinatorJob {
  readonly action: 'commit' | 'open';
  readonly dir: string;
  readonly commits: number;
}

export interface CoordinatorAnswer {
  /** Of all commits; or of the opening. */
  readonly seconds: number;
  /** Of one question for 10 runs, with all runs in the catalogue. */
  readonly findMicroseconds: number;
}

const STREAMS = 10;
/** Commits that are under way at once: a group shares one sync. */
const IN_FLIGHT = 1_024;
const QUESTIONS = 20_000;
const FOUND_RUNS = 10;

const job = jobOf<CoordinatorJob>();
const begun = performance.now();
const coordinator = await openEmbeddedCoordinator({
  fileSystem: new NodeFileSystem(),
  directory: join(job.dir, 'manifest'),
  storeId: new Uint8Array(16).fill(7),
});
let seconds = (performance.now() - begun) / 1_000;
if (job.action === 'commit') seconds = await commitAll();
const findMicroseconds = await find();
await coordinator.close();
await answer({ seconds, findMicroseconds } satisfies CoordinatorAnswer);

/** Each commit has a run of each of ten streams. Reservations are made ahead, as writers do. */
async function commitAll(): Promise<number> {
  for (let stream = 0; stream < STREAMS; stream += 1) {
    await coordinator.createStream(`stream-${stream}`, STREAM_CONFIG_DEFAULT);
  }
  let spent = 0;
  for (let done = 0; done < job.commits; done += IN_FLIGHT) {
    const { keys } = await coordinator.reserveObjects(Math.min(IN_FLIGHT, job.commits - done));
    const commits = keys.map((key, index) => commitOf(key, done + index));
    const start = performance.now();
    await Promise.all(commits.map((commit) => coordinator.commitObject(commit)));
    spent += performance.now() - start;
  }
  return spent / 1_000;
}

function commitOf(key: string, index: number): ObjectCommit {
  const firstOffset = index * SAMPLE_RECORDS;
  const runs = Array.from({ length: STREAMS }, (_, stream) => sampleRunOf(stream, firstOffset));
  return { key, bytes: (STREAMS + 2) * SAMPLE_RUN_BYTES, checksum: '0'.repeat(16), runs };
}

async function find(): Promise<number> {
  const step = Math.max(1, Math.floor((job.commits * SAMPLE_RECORDS) / QUESTIONS));
  const start = performance.now();
  for (let question = 0; question < QUESTIONS; question += 1) {
    const offset = (question * step * 7) % (job.commits * SAMPLE_RECORDS);
    await coordinator.findRuns(1 + (question % STREAMS), offset, { maxRuns: FOUND_RUNS, maxBytes: 2 ** 40 });
  }
  return ((performance.now() - start) * 1_000) / QUESTIONS;
}
