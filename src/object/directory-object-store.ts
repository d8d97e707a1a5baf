/**
 * Objects as files below a root directory. A slash in a key is a folder; a file whose name ends in `.tmp` is an object
 * in the making, or what a crash left of one.
 *
 * Reads are asynchronous, for they run on the application's thread, unless memory is likely to answer a short one;
 * writers block, for they run in pool workers.
 */
import { throwIfAborted } from '../errors/aborted.ts';
import { dirname, join, resolve } from 'node:path';
import { PAGE_BYTES } from '../base/bytes.ts';
import { isInPages } from '../base/page-memory.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import type { FileHandle, FileStat, FileSystem } from '../base/file-system.ts';
import { isSystemError, NodeFileSystem } from '../base/node-file-system.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { TEMPORARY_SUFFIX } from '../base/whole-file.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { BlockingReads } from './blocking-reads.ts';
import { DirectoryWriter } from './directory-writer.ts';
import { FolderTree } from './folder-tree.ts';
import { KIB } from '../limits/limits.ts';
import { checkRange, notPlain, objectEndsEarly, objectNotFound, readFailed, writeFailed } from './object-errors.ts';
import { isObjectKey } from './object-key.ts';
import type { ObjectEntry, ObjectStore, ObjectStoreDescriptor, ObjectWriter } from './object-store.ts';
import { DIRECTORY_MODULE } from './own-modules.ts';
import { OpenHandles, type OpenObject } from './open-handles.ts';

const OPEN_FILES_DEFAULT = 64;
const NONCE_BYTES = 4;
/**
 * Whole pages of so many bytes go past the page cache, into memory that the caller brings: what is read once does not
 * push out what others read again, and 0.5 MiB from anywhere in a file take 0.4 of the time.
 */
const DIRECT_READ_BYTES_MIN: number = 128 * KIB;

export interface DirectoryObjectStoreOptions {
  /** Absolute path. Made by the first write; its parent must exist. */
  readonly root: string;
  readonly fileSystem?: FileSystem;
  /** For names of objects in the making. Default the system's. */
  readonly random?: Random;
  /** Tells how long reads take. Default the system's. */
  readonly clock?: Clock;
  /** Files kept open for reading, and as many again for reads past the page cache. Default 64. */
  readonly maxOpenFiles?: number;
  /** Bypass the page cache in writes and large reads, where the file system offers it. Default true. */
  readonly direct?: boolean;
}

interface FolderEntry {
  readonly name: string;
  readonly stat: FileStat;
}

export class DirectoryObjectStore implements ObjectStore {
  readonly #fileSystem: FileSystem;
  readonly #folders: FolderTree;
  readonly #handles: OpenHandles;
  readonly #directHandles: OpenHandles;
  readonly #direct: boolean;
  #directReads: boolean;
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #blocking = new BlockingReads();

  constructor(options: DirectoryObjectStoreOptions) {
    this.#fileSystem = options.fileSystem ?? new NodeFileSystem();
    this.#folders = new FolderTree(this.#fileSystem, resolve(options.root));
    this.#handles = new OpenHandles(this.#fileSystem, options.maxOpenFiles ?? OPEN_FILES_DEFAULT);
    this.#directHandles = new OpenHandles(this.#fileSystem, options.maxOpenFiles ?? OPEN_FILES_DEFAULT, true);
    this.#direct = options.direct ?? true;
    this.#directReads = this.#direct;
    this.#random = options.random ?? systemRandom;
    this.#clock = options.clock ?? systemClock;
  }

  async create(key: string): Promise<ObjectWriter> {
    const path = this.#prepare(key);
    // Unique, so that what a crash left of an earlier attempt is never in the way.
    const nonce = Buffer.from(this.#random.bytes(NONCE_BYTES)).toString('hex');
    const temporaryPath = `${path}.${nonce}${TEMPORARY_SUFFIX}`;
    return new DirectoryWriter({ fileSystem: this.#fileSystem, key, path, temporaryPath, direct: this.#direct });
  }

  async read(
    key: string,
    position: number,
    length: number,
    signal?: AbortSignal,
    into?: Uint8Array,
  ): Promise<Uint8Array> {
    checkRange(position, length);
    throwIfAborted(signal);
    try {
      let path = this.#folders.pathOf(key);
      // A file that is open was found by a path without links; to look again costs as much as a short read.
      if (!this.#handles.has(path)) path = this.#folders.locate(key);
      if (into !== undefined && this.#isDirect(into, position, length)) {
        const bytes = await this.#readDirect(path, key, position, into, signal);
        if (bytes !== undefined) return bytes;
      }
      return await this.#handles.use(path, (object) => this.#readExactly(object, key, position, length, signal, into));
    } catch (error) {
      if (isSystemError(error, 'ENOENT', 'ENOTDIR')) throw objectNotFound(key, this.#folders.root, error);
      throw readFailed(key, this.#folders.root, error);
    }
  }

  async size(key: string): Promise<number | undefined> {
    try {
      const stat = this.#fileSystem.statSync(this.#folders.locate(key));
      return stat?.kind === 'file' ? stat.size : undefined;
    } catch (error) {
      throw readFailed(key, this.#folders.root, error);
    }
  }

  async delete(keys: readonly string[]): Promise<string[]> {
    const removed = new Map<string, string[]>();
    for (const key of keys) {
      const directory = await this.#remove(key);
      if (directory === undefined) continue;
      const siblings = removed.get(directory);
      if (siblings === undefined) removed.set(directory, [key]);
      else siblings.push(key);
    }
    const gone: string[] = [];
    for (const [directory, siblings] of removed) {
      if (this.#syncDirectory(directory)) gone.push(...siblings);
    }
    return gone;
  }

  async *list(prefix = ''): AsyncIterable<ObjectEntry> {
    for (const { key, bytes, modifiedAt } of this.#walk('')) {
      if (key.startsWith(prefix) && isObjectKey(key)) yield { key, bytes, modifiedAt };
    }
  }

  async removeUnfinished(startedBefore: number, dryRun = false): Promise<number> {
    const directories = new Set<string>();
    let count = 0;
    for (const { key, modifiedAt } of this.#walk('')) {
      if (!key.endsWith(TEMPORARY_SUFFIX) || modifiedAt >= startedBefore) continue;
      count += 1;
      if (dryRun) continue;
      const path = join(this.#folders.root, key);
      this.#fileSystem.removeSync(path);
      directories.add(dirname(path));
    }
    for (const directory of directories) this.#fileSystem.syncDirectorySync(directory);
    return count;
  }

  async close(): Promise<void> {
    await Promise.all([this.#handles.close(), this.#directHandles.close()]);
  }

  #isDirect(into: Uint8Array, position: number, length: number): boolean {
    const inPages = isInPages(into) && position % PAGE_BYTES === 0 && length % PAGE_BYTES === 0;
    return this.#directReads && inPages && into.byteLength === length && length >= DIRECT_READ_BYTES_MIN;
  }

  /** `undefined` where direct reads are not to be had: not on this file system, or not this one. */
  async #readDirect(
    path: string,
    key: string,
    position: number,
    into: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    let opened = false;
    try {
      return await this.#directHandles.use(path, (object) => {
        opened = true;
        return this.#readExactly(object, key, position, into.length, signal, into);
      });
    } catch (error) {
      if (!isSystemError(error, 'EINVAL')) throw error;
      // A read may be refused for what it asks for. A file that cannot be opened so tells of its file system.
      if (!opened) this.#directReads = false;
      return undefined;
    }
  }

  async #readExactly(
    object: OpenObject,
    key: string,
    position: number,
    length: number,
    signal: AbortSignal | undefined,
    into: Uint8Array | undefined,
  ): Promise<Uint8Array> {
    // The range comes from a footer or a manifest: nothing is allocated before it is known to exist.
    if (position + length > object.bytes) throw objectEndsEarly(key, position, length, object.bytes);
    // Not from the shared pool: callers may transfer the memory to another thread.
    const target = into?.length === length ? into : Buffer.allocUnsafeSlow(length);
    let filled = 0;
    while (filled < length) {
      const reading = this.#readSome(object.handle, target, filled, position + filled);
      const count = typeof reading === 'number' ? reading : await reading;
      throwIfAborted(signal);
      if (count === 0) throw objectEndsEarly(key, position, length, position + filled);
      filled += count;
    }
    return target;
  }

  #readSome(handle: FileHandle, target: Uint8Array, filled: number, position: number): number | Promise<number> {
    const length = target.length - filled;
    if (!this.#blocking.takes(length)) return handle.read(target, filled, length, position);
    const begun = this.#clock.monotonic();
    try {
      return handle.readSync(target, filled, length, position);
    } finally {
      this.#blocking.took(this.#clock.monotonic() - begun);
    }
  }

  #prepare(key: string): string {
    try {
      return this.#folders.prepare(key);
    } catch (error) {
      throw writeFailed(join(this.#folders.root, key), error);
    }
  }

  /** The directory that no longer holds the key; `undefined` when that is not certain. */
  async #remove(key: string): Promise<string | undefined> {
    try {
      const path = this.#folders.locate(key);
      this.#handles.retire(path);
      this.#directHandles.retire(path);
      await this.#fileSystem.remove(path);
      return dirname(path);
    } catch {
      // The caller keeps every key that is not confirmed and asks again: one bad key must not stop the others.
      return undefined;
    }
  }

  #syncDirectory(directory: string): boolean {
    try {
      if (this.#fileSystem.statSync(directory) !== undefined) this.#fileSystem.syncDirectorySync(directory);
      return true;
    } catch {
      return false;
    }
  }

  /** Every file below a folder (`''` or ending in a slash), in key order, whether it is an object or not. */
  *#walk(folder: string): Generator<ObjectEntry> {
    for (const { name, stat } of this.#entriesIn(folder)) {
      const key = folder + name;
      if (stat.kind === 'directory') yield* this.#walk(key);
      else if (stat.kind === 'file') yield { key, bytes: stat.size, modifiedAt: stat.modifiedAt };
    }
  }

  /** Folders get their slash before sorting: `a/b` comes after `a-b` and before `a0`. */
  #entriesIn(folder: string): FolderEntry[] {
    const directory = join(this.#folders.root, folder);
    try {
      const entries = this.#fileSystem.listSync(directory).flatMap((name): FolderEntry[] => {
        const stat = this.#fileSystem.statSync(join(directory, name));
        // It may have been deleted since the directory was read.
        if (stat === undefined) return [];
        return [{ name: stat.kind === 'directory' ? `${name}/` : name, stat }];
      });
      return entries.sort((left, right) => (left.name < right.name ? -1 : 1));
    } catch (error) {
      if (isSystemError(error, 'ENOENT')) return [];
      if (isSystemError(error, 'ENOTDIR')) throw notPlain(directory, 'directory');
      throw readFailed(`folder ${JSON.stringify(folder)}`, this.#folders.root, error);
    }
  }
}

/** What a worker thread needs to build the same store. */
export function describeDirectoryStore(
  options: Omit<DirectoryObjectStoreOptions, 'fileSystem' | 'random' | 'clock'>,
): ObjectStoreDescriptor {
  return { module: DIRECTORY_MODULE, options: { ...options } };
}

/** Builds the store a descriptor of this module describes. */
export async function openObjectStore(options: ObjectStoreDescriptor['options']): Promise<DirectoryObjectStore> {
  const { root, maxOpenFiles, direct } = options;
  const valid =
    typeof root === 'string' &&
    (maxOpenFiles === undefined || (Number.isInteger(maxOpenFiles) && Number(maxOpenFiles) > 0)) &&
    (direct === undefined || typeof direct === 'boolean');
  if (!valid) {
    throw new MillraceError(
      'ERR_MILLRACE_INVALID_ARGUMENT',
      'a directory object store needs root (a path); maxOpenFiles is a positive integer and direct a boolean',
    );
  }
  return new DirectoryObjectStore({
    root,
    ...(maxOpenFiles === undefined ? {} : { maxOpenFiles: Number(maxOpenFiles) }),
    ...(direct === undefined ? {} : { direct }),
  });
}
