/** What compaction has done since the store was opened: `stats().compaction`. */
import { JOB_KINDS, type JobKind } from '../coordinator/job.ts';
import type { JobReport } from './job-run.ts';
import type { Survey } from './survey.ts';

export interface CompactionCounters {
  /** Jobs committed, by kind. */
  readonly jobs: Record<JobKind, number>;
  /** Objects that jobs took, and objects that they made of them. */
  inputs: number;
  outputs: number;
  readBytes: number;
  writtenBytes: number;
  /** Records left out: superseded, below the log start or truncated. */
  recordsDropped: number;
  /** Chunks passed on as they were, and chunks written anew. */
  chunksPassed: number;
  chunksWritten: number;
  /** Jobs under way. */
  running: number;
  /** Attempts that failed; among them those that lost their lease, and those whose commit was refused. */
  failures: number;
  leasesLost: number;
  conflicts: number;
  /** Code of the last failure. */
  lastError: string | undefined;
  /** Nothing is started in the background: in this process, or in all as last heard of. */
  paused: boolean;
  /** What the last look for work found; `undefined` before the first. */
  survey: Survey | undefined;
  /** Wall time of the last round that ended well, in milliseconds since the epoch. */
  lastSuccessAt: number | undefined;
}

export function newCounters(): CompactionCounters {
  return {
    jobs: Object.fromEntries(JOB_KINDS.map((kind) => [kind, 0])) as Record<JobKind, number>,
    inputs: 0,
    outputs: 0,
    readBytes: 0,
    writtenBytes: 0,
    recordsDropped: 0,
    chunksPassed: 0,
    chunksWritten: 0,
    running: 0,
    failures: 0,
    leasesLost: 0,
    conflicts: 0,
    lastError: undefined,
    paused: false,
    survey: undefined,
    lastSuccessAt: undefined,
  };
}

export function countJob(counters: CompactionCounters, { plan, inputs, outputs, result }: JobReport): void {
  counters.jobs[plan.kind] += 1;
  counters.inputs += inputs;
  counters.outputs += outputs;
  counters.readBytes += result.counters.readBytes;
  counters.writtenBytes += result.counters.writtenBytes;
  counters.recordsDropped += result.counters.recordsDropped;
  counters.chunksPassed += result.counters.chunksPassed;
  counters.chunksWritten += result.counters.chunksWritten;
}
