/** When a process is killed, and what kills it at a file operation: the shim, or strace where there is no compiler. */
import { spawnSync } from 'node:child_process';
import type { Random } from '../../src/base/random.ts';
import { hasProgram } from '../support/child-processes.ts';
import { type FaultRule, Faults, type OperationCounts, whyNoShim } from '../support/fault-shim.ts';

/** At a file operation, counted from the start of the process over all threads. */
export interface OperationMoment {
  readonly rule: Required<Pick<FaultRule, 'operation' | 'first'>>;
  /** Once the operation is done, rather than before it begins. */
  readonly after: boolean;
}

export interface TimedMoment {
  /** Counted from the opening of the store, or from the start of the process. */
  readonly afterOpen: boolean;
  readonly milliseconds: number;
}

export type Moment = OperationMoment | TimedMoment;

export function isTimed(moment: Moment): moment is TimedMoment {
  return 'milliseconds' in moment;
}

/** The longest that a process works before it is killed, in milliseconds, where its workload does not say. */
export const WORK_MAX = 250;
/** File operations that a process may get through in that time, where they are not counted. */
const OPERATIONS_MAX = 400;

export type Weapon = 'shim' | 'strace' | 'clock';

/** Why strace kills nobody here; `undefined` when it can. */
export function whyNoTracer(): string | undefined {
  if (process.platform !== 'linux' || !hasProgram('strace')) return 'there is no strace';
  const { status } = spawnSync('strace', ['-o', '/dev/null', 'true']);
  return status === 0 ? undefined : 'strace may trace nobody here';
}

/** The best there is here, and why it is not the shim. */
export function chooseWeapon(): { readonly weapon: Weapon; readonly reason?: string } {
  const reason = whyNoShim();
  if (reason === undefined) return { weapon: 'shim' };
  const noTracer = whyNoTracer();
  if (noTracer === undefined) {
    return { weapon: 'strace', reason: `${reason}: strace kills instead, before operations only, counted by thread` };
  }
  return { weapon: 'clock', reason: `${reason}, and ${noTracer}: processes are killed by the clock only` };
}

/**
 * Half of the processes are killed by the clock, half at a file operation. `counts`: what a process did that only the
 * clock has killed, so that early and late operations have the same chance, however many the machine lets a process do.
 */
export function randomMoment(
  random: Random,
  weapon: Weapon,
  { work = WORK_MAX, counts }: { readonly work?: number | undefined; readonly counts?: OperationCounts | undefined },
): Moment {
  if (weapon === 'shim' && counts === undefined) return { afterOpen: true, milliseconds: work };
  if (weapon === 'clock' || random.below(2) === 0) {
    return { afterOpen: random.below(5) > 0, milliseconds: random.below(work) };
  }
  const most = counts ?? operationsIn(work);
  const kinds = [...Object.keys(most), 'any'] as FaultRule['operation'][];
  const operation = kinds[random.below(kinds.length)] ?? 'any';
  const total = Object.values(most).reduce((sum, count) => sum + count, 0);
  const first = 1 + random.below(Math.max(1, operation === 'any' ? total : (most[operation] ?? 1)));
  return { rule: { operation, first }, after: random.below(2) === 0 };
}

/** A guess: processes that are killed before they have done so many are killed by the clock. */
function operationsIn(milliseconds: number): OperationCounts {
  const often = Math.ceil((OPERATIONS_MAX * milliseconds) / WORK_MAX);
  const rarely = Math.ceil(often / 10);
  return { write: often, sync: rarely, rename: rarely, open: rarely };
}

/** How a process has to be started so that it is killed at its moment. */
export interface Preparation {
  readonly wrapper: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** What it did until it was killed, where that is counted. */
  readonly counts?: () => OperationCounts;
}

export function prepareKill(moment: Moment, weapon: Weapon, dir: string, scratch: string): Preparation {
  if (weapon === 'shim') return prepareShim(moment, dir, scratch);
  if (isTimed(moment) || weapon === 'clock') return { wrapper: [], environment: {} };
  const injection = `${CALLS[moment.rule.operation]}:signal=KILL:when=${moment.rule.first}`;
  return { wrapper: ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `inject=${injection}`], environment: {} };
}

/** Also where the clock kills: what a process does until then is counted. */
function prepareShim(moment: Moment, dir: string, scratch: string): Preparation {
  const faults = new Faults(dir, scratch);
  if (isTimed(moment)) faults.arm();
  else faults.arm({ ...moment.rule, path: '/', action: moment.after ? 'kill-after' : 'kill' });
  return { wrapper: [], environment: faults.environment, counts: () => faults.counts() };
}

/** The system calls of an operation, as strace names sets of them. */
const CALLS: Readonly<Record<FaultRule['operation'], string>> = {
  write: 'pwrite64',
  sync: 'fdatasync,fsync',
  rename: '/^rename',
  open: '/^open',
  remove: '/^(unlink|rmdir)',
  make: '/^mkdir',
  truncate: 'ftruncate',
  any: 'pwrite64,fdatasync,fsync,/^rename,/^unlink,/^mkdir,ftruncate',
};
