/** Ends the workers of stores in the middle of their work, or blocks the thread that they belong to. */
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { type Mortality, MORTALITY } from '../support/mortal.worker.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { checkStore } from './campaign-round.ts';
import { Expectation } from './expectation.ts';
import { survive } from './survival.ts';
import type { Survival } from './survivor.ts';
import { workloadNamed } from './workloads.ts';

type Death = Omit<Mortality, 'ended'>;

/** What is at work when the worker ends, in turn. */
const WORKLOADS: Readonly<Record<'wal' | 'flush' | 'rewrite', readonly string[]>> = {
  wal: ['endless', 'flushes', 'keys'],
  flush: ['lanes', 'flushes', 'deletions', 'keys', 'endless'],
  rewrite: ['keys', 'merges', 'everything'],
};
const ENDS = ['exit', 'throw', 'memory'] as const;
/** How long a worker may take to come to its end, in milliseconds. */
const PATIENCE = 90_000;
const WORK = 400;
const CALLS_MAX = 4;
const WAL = { slots: 3, slotBytes: 64 * 1024, flushInterval: 20 };
/** The heap of every thread of the process, so that running out of it is quick. */
const HEAP_MIB = 96;

/** Every worker, in every way, at the `call`-th operation of every kind. */
export function deathsAt(call: number): Death[] {
  const deaths: Omit<Death, 'end' | 'call'>[] = [
    { worker: 'wal', operation: 'writeSync' },
    { worker: 'pool', job: 'flush', operation: 'writeSync' },
    { worker: 'pool', job: 'flush', operation: 'fdatasyncSync' },
    { worker: 'pool', job: 'flush', operation: 'renameSync' },
    { worker: 'pool', job: 'flush', operation: 'fsyncSync' },
    { worker: 'pool', job: 'rewrite', operation: 'writeSync' },
    { worker: 'pool', job: 'rewrite', operation: 'renameSync' },
    { worker: 'pool', job: 'rewrite', operation: 'fsyncSync' },
  ];
  return deaths.flatMap((death) => ENDS.map((end) => ({ ...death, end, call })));
}

/** Without an end. */
export function* everyDeath(from: number): Generator<Death, never> {
  for (let call = from; ; call += 1) yield* deathsAt(call);
}

/** Without an end: drawn from those that come soon in every process. */
export function* anyDeath(random: Random): Generator<Death, never> {
  for (;;) {
    const deaths = deathsAt(1 + random.below(CALLS_MAX));
    yield deaths[random.below(deaths.length)] as Death;
  }
}

/** One process that loses a worker. Resolves with whether it came to that. */
export async function loseWorker(death: Death, seed: number): Promise<boolean> {
  await loadChecksum();
  const directory = temporaryDirectory();
  const workloads = death.worker === 'wal' ? WORKLOADS.wal : WORKLOADS[death.job === 'rewrite' ? 'rewrite' : 'flush'];
  const workload = workloads[seed % workloads.length] as string;
  const dir = join(directory.path, 'store');
  const expectation = new Expectation(workloadNamed(workload));
  const mortality: Mortality = { ...death, ended: join(directory.path, 'ended') };
  const survival = await survive({
    trial: { dir, workload, seed, wal: WAL, milliseconds: PATIENCE, until: mortality.ended },
    scratch: directory.path,
    expectation,
    environment: { [MORTALITY]: JSON.stringify(mortality) },
    nodeArguments: [`--max-old-space-size=${HEAP_MIB}`],
  });
  const happened = existsSync(mortality.ended);
  if (happened) checkLoss(death, survival);
  else assert.deepEqual(survival.errors, []);
  await checkStore(workload, dir, expectation);
  directory.remove();
  return happened;
}

const DIED = 'ERR_MILLRACE_WORKER_DIED';

function checkLoss({ worker, job, end }: Death, { errors, append, merge, close }: Survival): void {
  if (worker === 'wal') {
    // Nobody but that worker knows what is durable: the store stops, and says so.
    // Its end may come between two steps of the actors, who stop then and meet it no more.
    if (errors.length > 0) assert.deepEqual(errors, [DIED]);
    assert.deepEqual([append, merge, close], [DIED, merge, 'closed']);
    return;
  }
  // A filling is flushed again, by another worker and under another name; a merge says that it failed, for repetition.
  // An error thrown between two steps of a merge may come when its last one is done.
  if (job === 'flush' || (end === 'throw' && errors.length === 0)) assert.deepEqual(errors, []);
  else assert.deepEqual(errors, [DIED]);
  assert.deepEqual([append, merge, close], ['appended', 'merged', 'closed']);
}

/** One process whose thread is blocked for so long, in milliseconds: longer than the leases of its merges. */
export async function blockThread(milliseconds: number, seed: number): Promise<Survival> {
  await loadChecksum();
  const directory = temporaryDirectory();
  const dir = join(directory.path, 'store');
  const workload = 'everything';
  const expectation = new Expectation(workloadNamed(workload));
  const compaction = { deleteGrace: 50, lease: milliseconds / 5, heartbeat: milliseconds / 20 };
  const survival = await survive({
    trial: { dir, workload, seed, wal: {}, milliseconds: WORK, blocked: milliseconds, options: { compaction } },
    scratch: directory.path,
    expectation,
  });
  for (const error of survival.errors) assert.match(error, /LEASE_LOST|CONFLICT/);
  assert.deepEqual([survival.append, survival.close], ['appended', 'closed']);
  // Leases are short here: a machine that does much else may let one end in the last merge, too.
  assert.match(survival.merge, /^merged$|LEASE_LOST|CONFLICT/);
  await checkStore(workload, dir, expectation);
  rmSync(directory.path, { recursive: true });
  return survival;
}
