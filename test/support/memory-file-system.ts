/**
 * A disk in memory that knows which of its pages would survive a power loss. Written pages are unsynced until the write
 * was a synchronous one, or a sync of the file succeeded; `crash` decides for each of them whether it reached the disk.
 * Names are durable at once: tests of renames use the real file system.
 */
import { join } from 'node:path';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import type { FileHandle, FileStat, FileSystem, OpenMode } from '../../src/base/file-system.ts';
import { systemError } from './recording-file-system.ts';

/** A write whose bytes are in the file and not yet known to be on the disk. */
export interface UnsyncedWrite {
  readonly path: string;
  readonly position: number;
  readonly length: number;
}

class MemoryFile {
  content: Uint8Array = new Uint8Array(0);
  /** Memory that `content` is the beginning of, once it was resized. */
  #room: Uint8Array = new Uint8Array(0);
  /** Unsynced pages, with what the disk still holds of them. */
  readonly unsynced = new Map<number, Uint8Array>();

  write(bytes: Uint8Array, position: number): void {
    if (position + bytes.length > this.content.length) this.resize(position + bytes.length);
    const lastPage = Math.floor((position + bytes.length - 1) / PAGE_BYTES);
    for (let page = Math.floor(position / PAGE_BYTES); page <= lastPage; page += 1) {
      if (!this.unsynced.has(page)) this.unsynced.set(page, this.page(page).slice());
    }
    this.content.set(bytes, position);
  }

  page(page: number): Uint8Array {
    return this.content.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
  }

  resize(size: number): void {
    const { content } = this;
    if (content.buffer !== this.#room.buffer || size > this.#room.length) {
      // A log grows by a little at a time: room for as much again is there when it does.
      this.#room = new Uint8Array(size > content.length ? Math.max(size, 2 * content.length) : size);
      this.#room.set(content.subarray(0, size));
    }
    if (size > content.length) this.#room.fill(0, content.length, size);
    this.content = this.#room.subarray(0, size);
  }
}

export class MemoryFileSystem implements FileSystem {
  /** Whether direct I/O is offered; without it, opening for it fails as on tmpfs. */
  readonly direct: boolean;
  /** Called when a write is in the file and not yet durable: the moment at which a power loss tears it. */
  afterWrite: ((write: UnsyncedWrite) => void) | undefined;
  readonly #files = new Map<string, MemoryFile>();

  constructor(options: { readonly direct?: boolean } = {}) {
    this.direct = options.direct ?? true;
  }

  /** The bytes of a file, to be damaged in place. */
  contentOf(path: string): Uint8Array {
    return this.#existing(path).content;
  }

  /** Puts a file there, durable, in the place of any other. */
  put(path: string, content: Uint8Array): void {
    const file = new MemoryFile();
    file.content = content.slice();
    this.#files.set(path, file);
  }

  /** A copy that shares nothing: what happens to it does not happen here. */
  copy(): MemoryFileSystem {
    const copy = new MemoryFileSystem({ direct: this.direct });
    for (const [path, file] of this.#files) copy.put(path, file.content);
    return copy;
  }

  /** Pages that a crash may lose, in order. */
  unsyncedPages(): { path: string; page: number }[] {
    return [...this.#files].flatMap(([path, file]) =>
      [...file.unsynced.keys()].sort((left, right) => left - right).map((page) => ({ path, page })),
    );
  }

  /** Loses power: of the unsynced pages those survive for which `keep` says so. Handles of before are void. */
  crash(keep: (path: string, page: number) => boolean): void {
    this.afterWrite = undefined;
    for (const { path, page } of this.unsyncedPages()) {
      const file = this.#existing(path);
      if (!keep(path, page)) file.page(page).set(file.unsynced.get(page) ?? []);
      file.unsynced.delete(page);
    }
  }

  openSync(path: string, mode: OpenMode): FileHandle {
    if (mode.access === 'create') {
      if (this.#files.has(path)) throw systemError('EEXIST');
      this.#files.set(path, new MemoryFile());
    }
    const file = this.#existing(path);
    if (mode.direct === true && !this.direct) throw systemError('EINVAL');
    return new MemoryHandle(this, path, file, mode);
  }

  async open(path: string, mode: OpenMode): Promise<FileHandle> {
    return this.openSync(path, mode);
  }

  statSync(path: string): FileStat | undefined {
    const file = this.#files.get(path);
    return file === undefined ? undefined : { kind: 'file', size: file.content.length, modifiedAt: 0 };
  }

  listSync(path: string): string[] {
    const prefix = join(path, '/');
    return [...this.#files.keys()].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  }

  /** Directories are implied by the names of files. */
  makeDirectorySync(): void {}

  renameSync(from: string, to: string): void {
    this.#files.set(to, this.#existing(from));
    this.#files.delete(from);
  }

  removeSync(path: string): void {
    this.#files.delete(path);
  }

  async remove(path: string): Promise<void> {
    this.removeSync(path);
  }

  removeDirectorySync(): void {}

  syncDirectorySync(): void {}

  #existing(path: string): MemoryFile {
    const file = this.#files.get(path);
    if (file === undefined) throw systemError('ENOENT');
    return file;
  }
}

class MemoryHandle implements FileHandle {
  readonly path: string;
  readonly #system: MemoryFileSystem;
  readonly #file: MemoryFile;
  readonly #mode: OpenMode;

  constructor(system: MemoryFileSystem, path: string, file: MemoryFile, mode: OpenMode) {
    this.path = path;
    this.#system = system;
    this.#file = file;
    this.#mode = mode;
  }

  writeSync(source: Uint8Array, offset: number, length: number, position: number): number {
    if (this.#mode.access === 'read') throw systemError('EBADF');
    this.#checkAlignment(source.byteOffset + offset, length, position);
    this.#file.write(source.subarray(offset, offset + length), position);
    this.#system.afterWrite?.({ path: this.path, position, length });
    if (this.#mode.dataSync === true) this.#file.unsynced.clear();
    return length;
  }

  readSync(target: Uint8Array, offset: number, length: number, position: number): number {
    this.#checkAlignment(target.byteOffset + offset, length, position);
    const bytes = this.#file.content.subarray(position, position + length);
    target.set(bytes, offset);
    return bytes.length;
  }

  syncSync(): void {
    this.#file.unsynced.clear();
  }

  sizeSync(): number {
    return this.#file.content.length;
  }

  truncateSync(size: number): void {
    this.#file.resize(size);
  }

  closeSync(): void {}

  async write(source: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return this.writeSync(source, offset, length, position);
  }

  async read(target: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return this.readSync(target, offset, length, position);
  }

  async sync(): Promise<void> {
    this.syncSync();
  }

  async close(): Promise<void> {}

  /** Direct I/O takes whole pages only, from page-aligned memory. */
  #checkAlignment(...values: number[]): void {
    if (this.#mode.direct === true && values.some((value) => value % PAGE_BYTES !== 0)) throw systemError('EINVAL');
  }
}
