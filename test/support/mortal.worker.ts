/**
 * A worker of a store that ends in the middle of its work, once: stands in the place of the WAL worker or of those of
 * the pool, and runs the real one until its time has come. What it does is in the environment, see `Mortality`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import type { RewriteJob } from '../../src/compaction/rewrite-job.ts';
import type { FlushJob } from '../../src/flush/flush-job.ts';

export const MORTALITY = 'MILLRACE_MORTALITY';

export interface Mortality {
  readonly worker: 'wal' | 'pool';
  /** Of the pool: what it is to be busy with. */
  readonly job?: 'flush' | 'rewrite';
  readonly end: 'exit' | 'throw' | 'memory';
  /** It ends before this call of the operation. */
  readonly operation: 'writeSync' | 'fdatasyncSync' | 'renameSync' | 'fsyncSync';
  readonly call: number;
  /** A file that says that it has ended: those that take its place go on. */
  readonly ended: string;
}

function end({ end, ended }: Mortality): void {
  fs.writeFileSync(ended, '');
  if (end === 'exit') process.exit(3);
  if (end === 'memory') for (const hog: unknown[] = []; ;) hog.push(new Array(100_000).fill(hog.length));
  // One of the two is met first: the loop of the WAL worker gives no turn to anybody.
  process.nextTick(fail);
  Atomics.wait = fail;
}

function fail(): never {
  throw new Error('an error that nobody expects');
}

let busyWith: string | undefined;

function arm(mortality: Mortality): void {
  const { operation, call, job, ended } = mortality;
  const original = fs[operation] as (...args: readonly unknown[]) => unknown;
  let calls = 0;
  const counted = (...args: readonly unknown[]): unknown => {
    if (job === busyWith && !fs.existsSync(ended)) {
      calls += 1;
      if (calls === call) end(mortality);
    }
    return original(...args);
  };
  Object.assign(fs, { [operation]: counted });
  syncBuiltinESMExports();
}

type PoolJob = (job: FlushJob | RewriteJob) => Promise<unknown>;

let realJob: PoolJob | undefined;
if (!isMainThread) {
  const mortality = JSON.parse(process.env[MORTALITY] ?? '') as Mortality;
  arm(mortality);
  if (mortality.worker === 'wal') await import('../../workers/wal.worker.ts');
  else realJob = (await import('../../workers/pool.worker.ts')).run;
}

/** The job of a pool. */
export async function run(job: FlushJob | RewriteJob): Promise<unknown> {
  busyWith = job.type;
  try {
    return await realJob?.(job);
  } finally {
    busyWith = undefined;
  }
}
