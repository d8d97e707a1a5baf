/** What a figure depends on besides the code: without these facts it means nothing. */
import { readFileSync, statfsSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, release, totalmem } from 'node:os';
import { resolve, sep } from 'node:path';
import { GIB } from '../limits/limits.ts';

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  readonly fileSystem: FileSystemFacts;
}

export interface FileSystemFacts {
  /** As the system calls it: `ext4`, `tmpfs`. */
  readonly kind: string;
  readonly device: string;
  readonly options: string;
}

/** Kinds that keep files in memory: a sync costs nothing there, and no figure says anything about a disk. */
const IN_MEMORY = new Set(['tmpfs', 'ramfs', 'devtmpfs', 'hugetlbfs']);

export function machineFacts(directory: string): Machine {
  const [processor] = cpus();
  return {
    processor: processor?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    fileSystem: fileSystemOf(directory),
  };
}

/** Throws when files in `directory` are kept in memory. */
export function requireDisk(directory: string): void {
  const { kind } = fileSystemOf(directory);
  if (!IN_MEMORY.has(kind)) return;
  throw new Error(`${directory} is on ${kind}, which is memory: choose a directory on a real disk with --dir`);
}

function fileSystemOf(directory: string): FileSystemFacts {
  const mounts = readIfPresent('/proc/self/mounts');
  if (mounts !== undefined) return mountOf(mounts, resolve(directory));
  return { kind: `type 0x${statfsSync(directory).type.toString(16)}`, device: 'unknown', options: '' };
}

/** The mount with the longest path that holds the directory; the last of equals hides the others. */
export function mountOf(mounts: string, directory: string): FileSystemFacts {
  let longest = -1;
  let found: FileSystemFacts = { kind: 'unknown', device: 'unknown', options: '' };
  for (const line of mounts.split('\n')) {
    const [device, escaped, kind, options] = line.split(' ');
    if (device === undefined || escaped === undefined || kind === undefined) continue;
    const path = escaped.replaceAll(/\\(\d{3})/g, (_match, octal: string) => String.fromCharCode(parseInt(octal, 8)));
    if (!holds(path, directory) || path.length < longest) continue;
    longest = path.length;
    found = { kind, device, options: options ?? '' };
  }
  return found;
}

function holds(mount: string, directory: string): boolean {
  return mount === sep || directory === mount || directory.startsWith(mount + sep);
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** One line for each fact. */
export function machineText(machine: Machine): string {
  const { kind, device } = machine.fileSystem;
  return [
    `processor    ${machine.processor}, ${machine.cores} cores`,
    `memory       ${(machine.memoryBytes / GIB).toFixed(1)} GiB`,
    `system       ${machine.system}`,
    `node         ${machine.node}`,
    `file system  ${kind} on ${device}`,
    '',
  ].join('\n');
}
