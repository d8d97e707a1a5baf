/**
 * Fails one file operation after the other in processes that work on stores, and checks that they stop as they should:
 * nothing is tried again, reads go on, errors have codes, and opening again has everything that was acknowledged.
 */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Random, SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { type FaultRule, Faults, type OperationCounts } from '../support/fault-shim.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { checkStore } from './campaign-round.ts';
import { Expectation } from './expectation.ts';
import { survive } from './survival.ts';
import type { Survival } from './survivor.ts';
import { workloadNamed } from './workloads.ts';

type FaultKind = Pick<FaultRule, 'operation' | 'action'>;

export const FAULT_KINDS: readonly FaultKind[] = [
  { operation: 'sync', action: 'EIO' },
  { operation: 'write', action: 'EIO' },
  { operation: 'sync', action: 'ENOSPC' },
  { operation: 'write', action: 'ENOSPC' },
  { operation: 'write', action: 'short:512' },
  { operation: 'sync', action: 'EDQUOT' },
  { operation: 'write', action: 'EDQUOT' },
  { operation: 'rename', action: 'EIO' },
  { operation: 'open', action: 'ENOSPC' },
  { operation: 'truncate', action: 'EIO' },
  { operation: 'remove', action: 'EIO' },
];

/** Workloads that between them make every kind of file. */
const FAULT_WORKLOADS = ['everything', 'no WAL', 'endless', 'keys', 'lanes', 'deletions'] as const;
const ROUNDS_PER_STORE = 8;
const WORK = 250;
/** More operations than a process does. */
const NEVER = 2 ** 30;

export interface FaultCampaignOptions {
  readonly seed: number;
  readonly seconds: number;
  /** At most so many faults. Default no limit. */
  readonly faults?: number;
  /** Each kind fails one operation after the other, from this one on. Default: any of all that a process does. */
  readonly every?: number;
  readonly progress?: (figures: FaultFigures) => void;
}

export interface FaultFigures {
  /** Processes whose operation has failed. */
  readonly faults: number;
  /** Of those, stores that stopped, or would not open. */
  readonly stopped: number;
  readonly records: number;
  /** Of those that failed, the one with the highest number, counted over all kinds. */
  readonly latest: number;
}

/** Goes on beyond its time until something has failed, and something was acknowledged. Rejects with what is wrong. */
export async function runFaultCampaign(options: FaultCampaignOptions): Promise<FaultFigures> {
  const { seed, seconds, faults: most = Infinity, every, progress } = options;
  await loadChecksum();
  const random = new SeededRandom(seed);
  const end = performance.now() + 1_000 * seconds;
  const directory = temporaryDirectory();
  let figures: FaultFigures = { faults: 0, stopped: 0, records: 0, latest: 0 };
  const isDone = (): boolean =>
    figures.faults >= most || (performance.now() >= end && figures.faults > 0 && figures.records > 0);
  const sweep = every === undefined ? undefined : everyFault(every);
  // By workload; what a process does depends on what the machine lets it do, so that is counted on the way.
  const counts = new Map<string, OperationCounts>();
  for (let number = 0; !isDone(); number += 1) {
    const workload = FAULT_WORKLOADS[number % FAULT_WORKLOADS.length] as string;
    const dir = join(directory.path, `store-${number}`);
    const expectation = new Expectation(workloadNamed(workload));
    for (let round = 0; round < ROUNDS_PER_STORE && !isDone(); round += 1) {
      const rule = sweep?.next().value ?? anyFault(random, counts.get(workload) ?? {});
      const place = { dir, scratch: directory.path, workload, seed: random.uint32(), expectation };
      const before = expectation.records;
      const outcome = await faultRound(place, rule).catch((cause: unknown) => {
        throw new Error(`${workload}, ${JSON.stringify(rule)}, ${dir}`, { cause });
      });
      const records = figures.records + expectation.records - before;
      const faults = figures.faults + (outcome.failed === undefined ? 0 : 1);
      const stopped = figures.stopped + (outcome.stopped ? 1 : 0);
      figures = { faults, stopped, records, latest: Math.max(figures.latest, outcome.failed ?? 0) };
      if (outcome.failed === undefined) counts.set(workload, outcome.counts);
      progress?.(figures);
    }
    rmSync(dir, { recursive: true, force: true });
  }
  directory.remove();
  return figures;
}

/** Every kind at the first operation, then at the second: once each, or from then on. */
function* everyFault(from: number): Generator<FaultRule, never> {
  for (let first = from; ; first += 1) {
    for (const [index, kind] of FAULT_KINDS.entries()) {
      // Others than writes and syncs come once in a while.
      const at = kind.operation === 'write' || kind.operation === 'sync' ? first : Math.ceil(first / 8);
      yield ruleOf(kind, at, (first + index) % 2 === 0);
    }
  }
}

/** `once`: not from then on. */
function ruleOf(kind: FaultKind, first: number, once: boolean): FaultRule {
  // The system library writes on after a short write, so that one takes two calls.
  const last = once ? first + (kind.action.startsWith('short') ? 1 : 0) : 2 ** 31;
  return { ...kind, path: '/', first, last };
}

/** Any kind, and any operation of it with the same chance, late ones too; none as long as nothing is counted. */
export function anyFault(random: Random, counts: OperationCounts): FaultRule {
  const kinds = FAULT_KINDS.filter(({ operation }) => (counts[operation] ?? 0) > 0);
  const kind = kinds[random.below(Math.max(1, kinds.length))];
  if (kind === undefined) return { operation: 'any', path: '/', first: NEVER, action: 'EIO' };
  return ruleOf(kind, 1 + random.below(counts[kind.operation] ?? 1), random.below(2) === 0);
}

interface Place {
  readonly dir: string;
  readonly scratch: string;
  readonly workload: string;
  readonly seed: number;
  readonly expectation: Expectation;
}

/** What became of a process: the number of the operation that failed, if any did. */
interface Outcome {
  readonly failed: number | undefined;
  readonly stopped: boolean;
  readonly counts: OperationCounts;
}

async function faultRound(place: Place, rule: FaultRule): Promise<Outcome> {
  const { dir, scratch, workload, seed, expectation } = place;
  const faults = new Faults(dir, scratch);
  faults.arm(rule);
  const trial = { dir, workload, seed, wal: { slots: 3, slotBytes: 64 * 1024, flushInterval: 20 }, milliseconds: WORK };
  const survival = await survive({ trial, scratch, expectation, environment: faults.environment });
  const calls = faults.calls();
  const failed = calls.findIndex(({ outcome }) => outcome !== 'ok');
  if (failed < 0) {
    assert.deepEqual(survival.errors, [], 'nothing fails by itself');
  } else {
    checkStopped(survival, calls.slice(failed));
  }
  await checkStore(workload, dir, expectation);
  const counts = faults.counts();
  if (failed < 0) return { failed: undefined, stopped: false, counts };
  return { failed: failed + 1, stopped: survival.append !== 'appended', counts };
}

type Calls = ReturnType<Faults['calls']>;

/** How an append ends in a store that has stopped. */
const STOPPED = /^ERR_MILLRACE_(WRITE_FAILED|DISK_FULL)$/;

/** `calls`: from the first one that failed on. */
export function checkStopped({ append, close }: Survival, calls: Calls): void {
  const [fault] = calls;
  assert.ok(fault !== undefined);
  const { operation, path } = fault;
  if (operation === 'sync') {
    const again = calls.slice(1).filter((call) => call.operation === 'sync' && call.path === path);
    // Directories are synced for other names too; what counts is that nobody tries to save a file's bytes again.
    if (/\.\w+$/.test(path)) assert.deepEqual(again, [], `${path} is synced again after its sync has failed`);
  }
  const isLog = /^\/wal\/.*\.wal$|^\/manifest\/.*\.log$/.test(path);
  if (!isLog || close === 'not open' || operation === 'open') return;
  const written = calls.slice(1).filter((call) => call.operation === 'write' && call.path === path);
  const again = written.filter(({ outcome }) => outcome === 'ok');
  assert.deepEqual(again, [], `${path} is written again after it has failed`);
  // Appends need the manifest only once they are flushed.
  if (!path.startsWith('/wal/')) return;
  // It is the last append alone that hears of it where a slow machine's actors end before so many operations are done.
  assert.match(append, STOPPED, `after ${operation} of ${path} has failed`);
}
