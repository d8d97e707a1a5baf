/** Fails single file operations of a child process; see `fault-shim.c`. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasProgram } from './child-processes.ts';

/** From the compiled file back to the sources. */
const SOURCE: string = join(import.meta.dirname, '..', '..', '..', 'test', 'support', 'fault-shim.c');

type SystemCode = 'EIO' | 'ENOSPC' | 'EDQUOT' | 'EACCES' | 'EMFILE' | 'EINVAL';

export interface FaultRule {
  readonly operation: 'write' | 'sync' | 'rename' | 'open' | 'remove' | 'make' | 'truncate' | 'any';
  /** Part of the path below the directory. */
  readonly path: string;
  /** Number of the first and last call it applies to, from 1. Default the next one alone. */
  readonly first?: number;
  readonly last?: number;
  readonly action: SystemCode | `short:${number}` | 'kill' | 'kill-after';
}

/** Why there can be no shim here; `undefined` when there can. */
export function whyNoShim(): string | undefined {
  if (process.platform !== 'linux') return 'the shim is preloaded by the loader of Linux';
  if (!existsSync(SOURCE)) return 'its source is not beside the compiled tests';
  return hasProgram('cc') ? undefined : 'there is no C compiler (cc) to build the shim with';
}

let built: string | undefined;

function shimPath(): string {
  if (built !== undefined) return built;
  const path = join(tmpdir(), `millrace-fault-shim-${process.pid}.so`);
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', path, SOURCE, '-ldl', '-lpthread']);
  if (status !== 0) throw new Error(`cc: ${stderr.toString()}`);
  process.on('exit', () => {
    rmSync(path, { force: true });
  });
  built = path;
  return path;
}

/** How many operations of each kind a process has done. */
export type OperationCounts = Readonly<Record<string, number>>;

/** The faults of one process. */
export class Faults {
  readonly environment: Readonly<Record<string, string>>;
  readonly #rules: string;
  readonly #log: string;

  /** `dir`: where faults may happen. `scratch`: where rules and log are kept, elsewhere. */
  constructor(dir: string, scratch: string) {
    this.#rules = join(scratch, 'fault-rules');
    this.#log = join(scratch, 'fault-log');
    this.environment = {
      LD_PRELOAD: shimPath(),
      MILLRACE_FAULT_DIR: dir,
      MILLRACE_FAULT_RULES: this.#rules,
      MILLRACE_FAULT_LOG: this.#log,
    };
  }

  /** From now on these rules hold, with their counts at zero. Forgets the log. */
  arm(...rules: FaultRule[]): void {
    rmSync(this.#log, { force: true });
    const lines = rules.map(({ operation, path, first = 1, last = first, action }) => {
      const code = action in constants.errno ? constants.errno[action as SystemCode] : action;
      return `${operation} ${path} ${first} ${Math.min(last, 2 ** 31)} ${code}\n`;
    });
    // Another file each time: who reads it just now sees the old rules or the new ones, and that they have changed.
    writeFileSync(`${this.#rules}.new`, lines.join(''));
    renameSync(`${this.#rules}.new`, this.#rules);
  }

  /** The calls since the last `arm`: operation, path below the directory, `ok` or the fault. */
  calls(): { readonly operation: string; readonly path: string; readonly outcome: string }[] {
    if (!existsSync(this.#log)) return [];
    const lines = readFileSync(this.#log, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    return lines.map((line) => {
      const [operation = '', path = '', outcome = ''] = line.split(' ');
      return { operation, path, outcome };
    });
  }

  /** How many calls of each kind there were since the last `arm`. */
  counts(): OperationCounts {
    const counts: Record<string, number> = {};
    for (const { operation } of this.calls()) counts[operation] = (counts[operation] ?? 0) + 1;
    return counts;
  }
}
