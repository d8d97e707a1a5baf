/** When a process is killed, and what kills it at a file operation: the shim, or strace where there is no compiler. */
import { spawnSync } from 'node:child_process';
import type { Random } from '../../src/base/random.ts';
import { hasProgram } from '../support/child-processes.ts';
import { type FaultRule, Faults, whyNoShim } from '../support/fault-shim.ts';

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
/** File operations that a process may get through in that time, before it is killed at one. */
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

export function randomMoment(random: Random, weapon: Weapon, work: number = WORK_MAX): Moment {
  if (weapon !== 'clock' && random.below(2) === 0) {
    const operation = (['write', 'sync', 'rename', 'open', 'any'] as const)[random.below(5)] ?? 'write';
    const often = operation === 'write' || operation === 'any';
    const most = Math.ceil((OPERATIONS_MAX * work) / WORK_MAX);
    const first = 1 + random.below(often ? most : most / 10);
    return { rule: { operation, first }, after: random.below(2) === 0 };
  }
  return { afterOpen: random.below(5) > 0, milliseconds: random.below(work) };
}

/** How a process has to be started so that it is killed at its moment. */
export interface Preparation {
  readonly wrapper: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export function prepareKill(moment: Moment, weapon: Weapon, dir: string, scratch: string): Preparation {
  if (isTimed(moment) || weapon === 'clock') return { wrapper: [], environment: {} };
  const { rule, after } = moment;
  if (weapon === 'strace') {
    const injection = `${CALLS[rule.operation]}:signal=KILL:when=${rule.first}`;
    return { wrapper: ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `inject=${injection}`], environment: {} };
  }
  const faults = new Faults(dir, scratch);
  faults.arm({ ...rule, path: '/', action: after ? 'kill-after' : 'kill' });
  return { wrapper: [], environment: { ...faults.environment, MILLRACE_FAULT_LOG: '' } };
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
