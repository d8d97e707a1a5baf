/** What a simulation counts. All of it is about one thinned writer until `cost.ts` makes it comparable. */
import { noRequests, type RequestCounts } from './prices.ts';

/** What there is at one moment. */
export interface Sample {
  readonly day: number;
  /** Committed objects by number of merges: 0, 1, 2, 3 and more. */
  readonly generations: readonly number[];
  readonly deleting: number;
  readonly runs: number;
  readonly committedBytes: number;
  readonly liveBytes: number;
  readonly deletingBytes: number;
}

export interface JobCounts {
  jobs: number;
  inputs: number;
  outputs: number;
  readBytes: number;
  writtenBytes: number;
}

/** GETs for a scan of every stream from one end to the other, and the bytes that this yields. */
export interface ScanCounts {
  gets: number;
  bytes: number;
}

export interface Measures {
  readonly samples: Sample[];
  ingestedBytes: number;
  ingestedObjects: number;
  ingestedRuns: number;
  readonly ingest: RequestCounts;
  readonly rewriteReads: RequestCounts;
  readonly rewriteWrites: RequestCounts;
  readonly deletion: RequestCounts;
  /** By the reason that planners give. */
  readonly jobs: Map<string, JobCounts>;
  readonly scanBefore: ScanCounts;
  readonly scanAfter: ScanCounts;
}

export function newMeasures(): Measures {
  return {
    samples: [],
    ingestedBytes: 0,
    ingestedObjects: 0,
    ingestedRuns: 0,
    ingest: noRequests(),
    rewriteReads: noRequests(),
    rewriteWrites: noRequests(),
    deletion: noRequests(),
    jobs: new Map(),
    scanBefore: { gets: 0, bytes: 0 },
    scanAfter: { gets: 0, bytes: 0 },
  };
}

export function countJob(measures: Measures, reason: string, job: Omit<JobCounts, 'jobs'>): void {
  const total = measures.jobs.get(reason) ?? { jobs: 0, inputs: 0, outputs: 0, readBytes: 0, writtenBytes: 0 };
  total.jobs += 1;
  total.inputs += job.inputs;
  total.outputs += job.outputs;
  total.readBytes += job.readBytes;
  total.writtenBytes += job.writtenBytes;
  measures.jobs.set(reason, total);
}

export function totalOf(measures: Measures, name: keyof JobCounts): number {
  return [...measures.jobs.values()].reduce((sum, job) => sum + job[name], 0);
}
