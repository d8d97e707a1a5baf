/**
 * Runs a workload during which one call of the disk fails, or all from one on. Whatever it was: every error is a coded
 * one, nothing is synced or written again where a sync failed, reads go on, and opening again has all that was
 * acknowledged, whether power was lost or not.
 */
import assert from 'node:assert/strict';
import { SeededRandom } from '../../src/base/random.ts';
import { isMillraceError } from '../../src/index.ts';
import type { DiskCall, DiskFault, DiskOperation } from '../../src/testing/disk/calls.ts';
import { randomSurvival } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import type { RingSupply } from '../../src/testing/simulated-environment.ts';
import { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { checkReads } from './check.ts';
import { Oracle } from './oracle.ts';
import { KILL, recover } from './recovery.ts';
import type { Workload } from './steps.ts';
import { settle, Worker } from './worker.ts';

/** What can go wrong with each call. */
const ERRORS: Readonly<Partial<Record<DiskOperation, readonly DiskFault[]>>> = {
  write: [{ error: 'EIO' }, { error: 'ENOSPC' }, { error: 'EDQUOT' }, { bytes: 0 }, { bytes: 512 }, { bytes: 4_096 }],
  sync: [{ error: 'EIO' }, { error: 'ENOSPC' }, { error: 'EDQUOT' }],
  syncDirectory: [{ error: 'EIO' }, { error: 'ENOSPC' }],
  create: [{ error: 'ENOSPC' }, { error: 'EMFILE' }, { error: 'EACCES' }],
  open: [{ error: 'EMFILE' }, { error: 'EIO' }],
  makeDirectory: [{ error: 'ENOSPC' }],
  rename: [{ error: 'EIO' }, { error: 'ENOSPC' }],
  remove: [{ error: 'EIO' }],
  truncate: [{ error: 'EIO' }],
  read: [{ error: 'EIO' }],
};

export interface FaultPlan {
  /** Counted over the calls that can fail. */
  readonly call: number;
  /** Which of the faults of its operation. */
  readonly choice: number;
  /** It fails from then on, with all calls of its operation. */
  readonly sticky: boolean;
}

/** Nothing fails. */
export const NO_FAULT: FaultPlan = { call: Infinity, choice: 0, sticky: false };

export interface FaultCase {
  readonly seed: number;
  readonly workload: Workload;
  readonly plan: FaultPlan;
  readonly rings: RingSupply;
}

/** Makes calls fail by a plan, and holds what follows against the rule that nothing is tried again. */
class FaultyCalls {
  /** The call that failed first, for messages. */
  failed: DiskCall | undefined;
  /** Calls that could have failed. */
  calls = 0;
  /** Writes and syncs of a file after a sync of it had failed. */
  readonly retries: string[] = [];
  healed = false;
  readonly #plan: FaultPlan;
  readonly #unsynced = new Set<string>();

  constructor(plan: FaultPlan) {
    this.#plan = plan;
  }

  readonly onCall = (call: DiskCall): DiskFault | undefined => {
    const faults = ERRORS[call.operation];
    if (faults === undefined) return undefined;
    const { operation, path } = call;
    // Another opening judges the files anew: it begins with the identity of the store, after the last one was closed.
    if (operation === 'open' && path.endsWith('/STORE')) this.#unsynced.clear();
    if ((operation === 'sync' || operation === 'write') && this.#unsynced.has(path)) {
      this.retries.push(`${operation} ${path}`);
    }
    this.calls += 1;
    if (this.healed || this.calls <= this.#plan.call) return undefined;
    const isFirst = this.failed === undefined;
    if (!isFirst && !(this.#plan.sticky && this.failed?.operation === operation)) return undefined;
    this.failed ??= call;
    const fault = faults[this.#plan.choice % faults.length];
    if (operation === 'sync') this.#unsynced.add(path);
    return fault;
  };
}

/** Resolves with how many calls could have failed; rejects with what is wrong. */
export async function runFaultCase({ seed, workload, plan, rings }: FaultCase): Promise<number> {
  const { mode, direct } = workload;
  const random = new SeededRandom(seed);
  const time = new SimulatedTime();
  const disk = new SimulatedDisk({ direct, now: () => time.now() });
  const faulty = new FaultyCalls(plan);
  disk.onCall = faulty.onCall;
  const worker = new Worker({ disk, time, mode, seed: random.uint32(), rings }, new Oracle());
  try {
    const isOpen = await attempt(() => worker.open());
    if (isOpen) await work(worker, workload);
    assert.deepEqual(faulty.retries, [], 'nothing is tried again after a failed sync');
    faulty.healed = true;
    const { oracle } = worker;
    const store = worker.store;
    if (store !== undefined) await checkReads(store, oracle, oracle.now + 1);
    const atOnce = { snapshot: disk.snapshot(), oracle, moment: oracle.now + 1, now: time.now(), slots: worker.slots };
    // Closing a store that has stopped ends, well or not.
    if (store !== undefined) await attempt(() => settle(time, store.close()));
    const closed = { ...atOnce, snapshot: disk.snapshot(), moment: oracle.now + 1 };
    for (const point of [atOnce, closed]) {
      const killed = SimulatedDisk.afterPowerLoss(point.snapshot, KILL);
      await recover({ mode, point, disk: killed, seed: random.uint32(), rings });
      const survival = randomSurvival(new SeededRandom(random.uint32()));
      const lost = SimulatedDisk.afterPowerLoss(point.snapshot, survival);
      await recover({ mode, point, disk: lost, seed: random.uint32(), rings, goOn: true });
    }
  } catch (error) {
    const { operation, path } = faulty.failed ?? { operation: 'nothing', path: '' };
    throw new Error(`${operation} ${path} failed (${JSON.stringify(plan)})`, { cause: error });
  } finally {
    disk.disconnect();
    worker.environment.dispose();
  }
  return faulty.calls;
}

async function work(worker: Worker, workload: Workload): Promise<void> {
  for (const step of workload.steps) {
    // A second opener may meet the fault before the lock.
    if (step.do === 'crash' || step.do === 'openSecond') continue;
    const isDone = await attempt(() => worker.step(step));
    const { failure } = worker;
    if (failure !== undefined) await attempt(() => Promise.reject(failure));
    if (!isDone || failure !== undefined) break;
  }
  await attempt(() => worker.quiesce());
}

/** False when it ended in a coded error; any other is thrown on. */
async function attempt(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (isMillraceError(error) && error.code !== 'ERR_MILLRACE_WORKER_DIED') return false;
    throw error;
  }
}
