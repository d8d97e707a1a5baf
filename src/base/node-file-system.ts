import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  promises,
  read,
  readSync,
  realpathSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  write,
  writeSync,
} from 'node:fs';
import { close as closeAsync, open as openAsync } from 'node:fs';
import { constants as systemConstants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { FileHandle, FileStat, FileSystem, OpenMode } from './file-system.ts';

const openPromise = promisify(openAsync);
const closePromise = promisify(closeAsync);
const fdatasyncPromise = promisify(fdatasync);
// `read` and `write` carry a custom promisify symbol that returns an object; only the counts are wanted here.
const readPromise = promisify(read);
const writePromise = promisify(write);

const SYSTEM_NUMBERS: Readonly<Partial<Record<string, number>>> = systemConstants.errno;
const NEW_FILE_MODE = 0o644;

function flagsOf(mode: OpenMode): number {
  let flags = mode.access === 'read' ? constants.O_RDONLY : constants.O_RDWR;
  flags |= constants.O_NOFOLLOW ?? 0;
  if (mode.access === 'create') flags |= constants.O_CREAT | constants.O_EXCL;
  if (mode.direct === true) flags |= constants.O_DIRECT ?? 0;
  if (mode.dataSync === true) flags |= constants.O_DSYNC ?? constants.O_SYNC ?? 0;
  return flags;
}

/** Plain descriptors rather than `fs.promises` handles: the same one serves blocking and asynchronous calls. */
class NodeFileHandle implements FileHandle {
  readonly path: string;
  readonly #descriptor: number;

  constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
  }

  /** The descriptor itself, for a lock that a child process takes on it. */
  get descriptor(): number {
    return this.#descriptor;
  }

  writeSync(source: Uint8Array, offset: number, length: number, position: number): number {
    return writeSync(this.#descriptor, source, offset, length, position);
  }

  readSync(target: Uint8Array, offset: number, length: number, position: number): number {
    return readSync(this.#descriptor, target, offset, length, position);
  }

  syncSync(): void {
    fdatasyncSync(this.#descriptor);
  }

  sizeSync(): number {
    return fstatSync(this.#descriptor).size;
  }

  truncateSync(size: number): void {
    ftruncateSync(this.#descriptor, size);
  }

  closeSync(): void {
    closeSync(this.#descriptor);
  }

  async write(source: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    const result = await writePromise(this.#descriptor, source, offset, length, position);
    return result.bytesWritten;
  }

  async read(target: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    const result = await readPromise(this.#descriptor, target, offset, length, position);
    return result.bytesRead;
  }

  sync(): Promise<void> {
    return fdatasyncPromise(this.#descriptor);
  }

  close(): Promise<void> {
    return closePromise(this.#descriptor);
  }
}

/** The real file system. Stateless: worker threads make their own. */
export class NodeFileSystem implements FileSystem {
  openSync(path: string, mode: OpenMode): NodeFileHandle {
    return new NodeFileHandle(path, openSync(path, flagsOf(mode), NEW_FILE_MODE));
  }

  async open(path: string, mode: OpenMode): Promise<NodeFileHandle> {
    return new NodeFileHandle(path, await openPromise(path, flagsOf(mode), NEW_FILE_MODE));
  }

  statSync(path: string): FileStat | undefined {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : 'other';
    return { kind, size: stat.size, modifiedAt: stat.mtimeMs };
  }

  listSync(path: string): string[] {
    return readdirSync(path);
  }

  makeDirectorySync(path: string): void {
    try {
      mkdirSync(path);
    } catch (error) {
      if (!isSystemError(error, 'EEXIST') || this.statSync(path)?.kind !== 'directory') throw error;
    }
  }

  renameSync(from: string, to: string): void {
    renameSync(from, to);
  }

  removeSync(path: string): void {
    rmSync(path, { force: true });
  }

  remove(path: string): Promise<void> {
    return promises.rm(path, { force: true });
  }

  removeDirectorySync(path: string): void {
    try {
      rmdirSync(path);
    } catch (error) {
      if (!isSystemError(error, 'ENOENT')) throw error;
    }
  }

  syncDirectorySync(path: string): void {
    // Windows cannot open a directory; its renames are durable with the file system's own journal.
    if (process.platform === 'win32') return;
    const descriptor = openSync(path, constants.O_RDONLY);
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }
}

/**
 * Whether `error` is a system error with one of `codes`. By number too: Node has no name for some, such as EDQUOT, and
 * calls them unknown.
 */
export function isSystemError(error: unknown, ...codes: string[]): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errno } = error as NodeJS.ErrnoException;
  if (code !== undefined && codes.includes(code)) return true;
  return errno !== undefined && codes.some((name) => SYSTEM_NUMBERS[name] === -errno);
}

/** Where the path leads, as far as it exists. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isSystemError(error, 'ENOENT') || dirname(path) === path) throw error;
    return join(realPath(dirname(path)), basename(path));
  }
}
