/**
 * A bounded set of files kept open for reading. Opening costs several system calls; a scan reads the same few objects
 * again and again. The least recently used file is closed when the bound is passed, after its readers have finished.
 */
import { assert } from '../base/assert.ts';
import type { FileHandle, FileSystem } from '../base/file-system.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { notPlain } from './object-errors.ts';

/** An object open for reading. Objects are immutable, so its size is asked for once. */
export interface OpenObject {
  readonly handle: FileHandle;
  readonly bytes: number;
}

interface Entry {
  readonly opening: Promise<OpenObject>;
  readers: number;
  retired: boolean;
  /** Resolves once the file is closed, or could not be opened. */
  readonly ended: Promise<void>;
  readonly end: () => void;
}

export class OpenHandles {
  readonly #fileSystem: FileSystem;
  readonly #limit: number;
  readonly #direct: boolean;
  /** In order of last use, oldest first. */
  readonly #entries = new Map<string, Entry>();
  /** Every file that is open or opening, retired ones with readers included. */
  readonly #unclosed = new Set<Entry>();
  #closed = false;

  /** `direct`: past the page cache. */
  constructor(fileSystem: FileSystem, limit: number, direct = false) {
    assert(limit > 0, 'at least one handle stays open');
    this.#fileSystem = fileSystem;
    this.#limit = limit;
    this.#direct = direct;
  }

  /** Files held open. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether the file is held open, or about to be. */
  has(path: string): boolean {
    return this.#entries.has(path);
  }

  /** Runs `read` with the file open. Rejects with the system's error when it cannot be opened. */
  async use<T>(path: string, read: (object: OpenObject) => Promise<T>): Promise<T> {
    if (this.#closed) throw new MillraceError('ERR_MILLRACE_CLOSED', 'the object store was closed');
    const entry = this.#entries.get(path) ?? this.#start(path);
    this.#entries.delete(path);
    this.#entries.set(path, entry);
    entry.readers += 1;
    this.#evict();
    try {
      return await read(await entry.opening);
    } finally {
      entry.readers -= 1;
      this.#closeWhenIdle(entry);
    }
  }

  /** Forgets a file that is about to be removed; an open one would keep its space. */
  retire(path: string): void {
    const entry = this.#entries.get(path);
    if (entry === undefined) return;
    this.#entries.delete(path);
    entry.retired = true;
    this.#closeWhenIdle(entry);
  }

  /** Closes every file once its readers have finished. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const path of [...this.#entries.keys()]) this.retire(path);
    await Promise.all([...this.#unclosed].map((entry) => entry.ended));
  }

  #start(path: string): Entry {
    const opening = this.#open(path);
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const entry: Entry = { opening, readers: 0, retired: false, ended, end };
    this.#unclosed.add(entry);
    opening.catch(() => {
      // A file that could not be opened is asked for again next time: it may exist by then.
      if (this.#entries.get(path) === entry) this.#entries.delete(path);
      this.#ended(entry);
    });
    return entry;
  }

  async #open(path: string): Promise<OpenObject> {
    const stat = this.#fileSystem.statSync(path);
    if (stat !== undefined && stat.kind !== 'file') throw notPlain(path, 'file');
    const handle = await this.#fileSystem.open(path, { access: 'read', direct: this.#direct });
    try {
      return { handle, bytes: handle.sizeSync() };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  #evict(): void {
    for (const path of this.#entries.keys()) {
      if (this.#entries.size <= this.#limit) return;
      this.retire(path);
    }
  }

  #closeWhenIdle(entry: Entry): void {
    if (!entry.retired || entry.readers > 0) return;
    // Nothing was written through this handle, so an error of its close loses nothing.
    const closing = entry.opening.then(({ handle }) => handle.close()).catch(() => undefined);
    void closing.then(() => this.#ended(entry));
  }

  #ended(entry: Entry): void {
    this.#unclosed.delete(entry);
    entry.end();
  }
}
