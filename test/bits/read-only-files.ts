/**
 * Files in memory that can be swapped in no time: a sweep reads each of a million damaged files once. Writes are
 * refused, as on a disk that is mounted for reading; syncs do nothing.
 */
import type { FileHandle, FileStat, FileSystem, OpenMode } from '../../src/base/file-system.ts';

function refused(code: 'EROFS' | 'ENOENT', path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

class ReadOnlyHandle implements FileHandle {
  readonly path: string;
  readonly #bytes: Uint8Array;

  constructor(path: string, bytes: Uint8Array) {
    this.path = path;
    this.#bytes = bytes;
  }

  readSync(target: Uint8Array, offset: number, length: number, position: number): number {
    const bytes = this.#bytes.subarray(position, position + length);
    target.set(bytes, offset);
    return bytes.length;
  }

  async read(target: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return this.readSync(target, offset, length, position);
  }

  writeSync(): number {
    throw refused('EROFS', this.path);
  }

  async write(): Promise<number> {
    throw refused('EROFS', this.path);
  }

  truncateSync(): void {
    throw refused('EROFS', this.path);
  }

  sizeSync(): number {
    return this.#bytes.length;
  }

  syncSync(): void {}

  async sync(): Promise<void> {}

  closeSync(): void {}

  async close(): Promise<void> {}
}

export class ReadOnlyFiles implements FileSystem {
  readonly #files = new Map<string, Uint8Array>();

  /** Puts a file there, or takes it away. The bytes are used as they are. */
  set(path: string, bytes: Uint8Array | undefined): void {
    if (bytes === undefined) this.#files.delete(path);
    else this.#files.set(path, bytes);
  }

  get(path: string): Uint8Array {
    const bytes = this.#files.get(path);
    if (bytes === undefined) throw refused('ENOENT', path);
    return bytes;
  }

  openSync(path: string, mode: OpenMode): FileHandle {
    if (mode.access === 'create') throw refused('EROFS', path);
    return new ReadOnlyHandle(path, this.get(path));
  }

  async open(path: string, mode: OpenMode): Promise<FileHandle> {
    return this.openSync(path, mode);
  }

  statSync(path: string): FileStat | undefined {
    const bytes = this.#files.get(path);
    return bytes === undefined ? undefined : { kind: 'file', size: bytes.length, modifiedAt: 0 };
  }

  listSync(path: string): string[] {
    const prefix = `${path}/`;
    const below = [...this.#files.keys()].filter((name) => name.startsWith(prefix));
    return [...new Set(below.map((name) => name.slice(prefix.length).split('/')[0] ?? ''))];
  }

  makeDirectorySync(path: string): void {
    throw refused('EROFS', path);
  }

  renameSync(from: string): void {
    throw refused('EROFS', from);
  }

  removeSync(path: string): void {
    throw refused('EROFS', path);
  }

  async remove(path: string): Promise<void> {
    throw refused('EROFS', path);
  }

  removeDirectorySync(path: string): void {
    throw refused('EROFS', path);
  }

  syncDirectorySync(): void {}
}
