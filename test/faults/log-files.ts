/**
 * The files of a log as its recovery sees them, and nothing else of a disk: they are read, and never written to. A page
 * that lies in the ring already, since the log of an earlier disk had the same one there, is not copied again.
 */
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import type { FileHandle, FileStat, FileSystem, OpenMode } from '../../src/base/file-system.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import type { FileNode, Nodes, Page } from '../../src/testing/disk/nodes.ts';
import { filesIn, LOG } from './footprint.ts';

/** Memory of a ring, and the pages that were read into it last. A recovery changes none of them. */
export class RingMemory {
  readonly ring: SharedArrayBuffer;
  readonly #held: Page[];

  constructor(bytes: number) {
    this.ring = new SharedArrayBuffer(bytes);
    this.#held = Array.from({ length: bytes / PAGE_BYTES }, () => undefined);
  }

  /** Reads a file from its beginning; false when `target` is no place for whole pages in the ring. */
  read(file: FileNode, target: Uint8Array): boolean {
    const first = target.byteOffset / PAGE_BYTES;
    if (target.buffer !== this.ring || file.size % PAGE_BYTES !== 0 || target.length % PAGE_BYTES !== 0) return false;
    const count = Math.min(file.size, target.length) / PAGE_BYTES;
    for (let index = 0; index < count; index += 1) {
      const page = file.pages[index];
      if (this.#held[first + index] === page) continue;
      this.#held[first + index] = page;
      if (page === undefined) target.fill(0, index * PAGE_BYTES, (index + 1) * PAGE_BYTES);
      else target.set(page, index * PAGE_BYTES);
    }
    return true;
  }
}

export class LogFiles implements FileSystem {
  readonly #nodes: Nodes;
  readonly #files: ReadonlyMap<string, number>;
  readonly #memory: RingMemory | undefined;

  constructor(nodes: Nodes, files: ReadonlyMap<string, number>, memory?: RingMemory) {
    this.#nodes = nodes;
    this.#files = files;
    this.#memory = memory;
  }

  static of(nodes: Nodes): LogFiles {
    return new LogFiles(nodes, filesIn(nodes, LOG));
  }

  /** The same files, read into that memory. */
  into(memory: RingMemory): LogFiles {
    return new LogFiles(this.#nodes, this.#files, memory);
  }

  openSync(path: string): FileHandle {
    const node = this.#find(path);
    if (node?.kind !== 'file') throw systemError('ENOENT', { operation: 'open', path });
    return new LogFileHandle(path, node, this.#memory);
  }

  async open(path: string, _mode: OpenMode): Promise<FileHandle> {
    return this.openSync(path);
  }

  statSync(path: string): FileStat | undefined {
    const node = this.#find(path);
    return node && { kind: node.kind, size: node.kind === 'file' ? node.size : 0, modifiedAt: 0 };
  }

  listSync(): string[] {
    return [...this.#files.keys()];
  }

  makeDirectorySync: () => never = refuse;
  renameSync: () => never = refuse;
  removeSync: () => never = refuse;
  remove: () => never = refuse;
  removeDirectorySync: () => never = refuse;
  syncDirectorySync: () => never = refuse;

  #find(path: string): ReturnType<Nodes['get']> {
    const number = this.#files.get(path.slice(LOG.length + 1));
    return number === undefined ? undefined : this.#nodes.get(number);
  }
}

class LogFileHandle implements FileHandle {
  readonly path: string;
  readonly #file: FileNode;
  readonly #memory: RingMemory | undefined;

  constructor(path: string, file: FileNode, memory: RingMemory | undefined) {
    this.path = path;
    this.#file = file;
    this.#memory = memory;
  }

  readSync(target: Uint8Array, offset: number, length: number, position: number): number {
    const part = target.subarray(offset, offset + length);
    if (position === 0 && this.#memory?.read(this.#file, part) === true) return Math.min(length, this.#file.size);
    return this.#file.read(part, position);
  }

  async read(target: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return this.readSync(target, offset, length, position);
  }

  sizeSync(): number {
    return this.#file.size;
  }

  /** What a loss left is durable. */
  syncSync(): void {}
  async sync(): Promise<void> {}
  closeSync(): void {}
  async close(): Promise<void> {}

  writeSync: () => never = refuse;
  truncateSync: () => never = refuse;
  write: () => never = refuse;
}

function refuse(): never {
  throw new Error('the recovery of a log writes nothing');
}
