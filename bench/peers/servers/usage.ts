/** What other processes use, as Linux tells it in /proc; elsewhere nothing is known of them. */
import { readdirSync, readFileSync } from 'node:fs';

/** Ticks a second in /proc: the kernel shows 100 whatever its timer does. */
const TICKS = 100;
const KIB = 1_024;

/** Of one process, from /proc/PID/stat. */
interface Stat {
  readonly parent: number;
  /** Of itself and of its children that ended. */
  readonly processorTicks: number;
  readonly startTime: number;
}

/** Processor time of a process and of everything below it; `NaN` where it cannot be read. */
export function processorSeconds(pid: number): number {
  return family(pid).reduce((seconds, id) => seconds + (statOf(id)?.processorTicks ?? 0) / TICKS, seed(pid));
}

/** The most memory that a process and everything below it had, each at its own time; `NaN` where it cannot be read. */
export function peakBytes(pid: number): number {
  return family(pid).reduce((bytes, id) => bytes + peakOf(id), seed(pid));
}

/** When a process began, in ticks since the system did; `undefined` when there is none. */
export function startTime(pid: number): number | undefined {
  return statOf(pid)?.startTime;
}

/** What sums start from: nothing is known of what cannot be read. */
function seed(pid: number): number {
  return statOf(pid) === undefined ? NaN : 0;
}

function family(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const id of allProcesses()) {
    const parent = statOf(id)?.parent;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), id]);
  }
  const below = (id: number): number[] => [id, ...(children.get(id) ?? []).flatMap(below)];
  return below(pid);
}

function allProcesses(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function statOf(pid: number): Stat | undefined {
  const text = readIfPresent(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The name may hold blanks and brackets: fields count from behind it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const numbers = (from: number, count: number): number[] => fields.slice(from, from + count).map(Number);
  const [parent = 0] = numbers(1, 1);
  const [startTime = 0] = numbers(19, 1);
  return { parent, processorTicks: numbers(11, 4).reduce((sum, ticks) => sum + ticks, 0), startTime };
}

function peakOf(pid: number): number {
  const match = /^VmHWM:\s+(\d+) kB/m.exec(readIfPresent(`/proc/${pid}/status`) ?? '');
  return match === null ? 0 : Number(match[1]) * KIB;
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
