/**
 * The real file system with a log of what was asked of it, and hooks that make single operations fail or fall short.
 */
import type { FileHandle, FileStat, FileSystem, OpenMode } from '../../src/base/file-system.ts';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';

export type Operation =
  | 'open'
  | 'write'
  | 'read'
  | 'sync'
  | 'size'
  | 'truncate'
  | 'close'
  | 'stat'
  | 'list'
  | 'makeDirectory'
  | 'rename'
  | 'remove'
  | 'syncDirectory';

export interface Call {
  readonly operation: Operation;
  readonly path: string;
  readonly mode?: OpenMode;
  /** Bytes asked for by a read or write. */
  readonly length?: number;
}

/** Throws to fail the call; a returned number bounds the bytes of a read or write. */
export type Hook = (call: Call) => number | void | Promise<number | void>;

export class RecordingFileSystem implements FileSystem {
  readonly calls: Call[] = [];
  readonly #inner: FileSystem;
  readonly #hooks = new Map<Operation, Hook>();
  openHandles = 0;

  constructor(inner: FileSystem = new NodeFileSystem()) {
    this.#inner = inner;
  }

  on(operation: Operation, hook: Hook): void {
    this.#hooks.set(operation, hook);
  }

  off(operation: Operation): void {
    this.#hooks.delete(operation);
  }

  /** How often an operation was asked for. */
  count(operation: Operation): number {
    return this.calls.filter((call) => call.operation === operation).length;
  }

  /** Logs the call and runs its hook; the answer bounds reads and writes. */
  record(call: Call): number {
    this.calls.push(call);
    const bound = this.#hooks.get(call.operation)?.(call);
    return typeof bound === 'number' ? bound : (call.length ?? 0);
  }

  async recordAsync(call: Call): Promise<number> {
    this.calls.push(call);
    const bound = await this.#hooks.get(call.operation)?.(call);
    return typeof bound === 'number' ? bound : (call.length ?? 0);
  }

  openSync(path: string, mode: OpenMode): FileHandle {
    this.record({ operation: 'open', path, mode });
    return this.#opened(this.#inner.openSync(path, mode));
  }

  async open(path: string, mode: OpenMode): Promise<FileHandle> {
    await this.recordAsync({ operation: 'open', path, mode });
    return this.#opened(await this.#inner.open(path, mode));
  }

  statSync(path: string): FileStat | undefined {
    this.record({ operation: 'stat', path });
    return this.#inner.statSync(path);
  }

  listSync(path: string): string[] {
    this.record({ operation: 'list', path });
    return this.#inner.listSync(path);
  }

  makeDirectorySync(path: string): void {
    this.record({ operation: 'makeDirectory', path });
    this.#inner.makeDirectorySync(path);
  }

  renameSync(from: string, to: string): void {
    this.record({ operation: 'rename', path: to });
    this.#inner.renameSync(from, to);
  }

  removeSync(path: string): void {
    this.record({ operation: 'remove', path });
    this.#inner.removeSync(path);
  }

  async remove(path: string): Promise<void> {
    await this.recordAsync({ operation: 'remove', path });
    await this.#inner.remove(path);
  }

  removeDirectorySync(path: string): void {
    this.record({ operation: 'remove', path });
    this.#inner.removeDirectorySync(path);
  }

  syncDirectorySync(path: string): void {
    this.record({ operation: 'syncDirectory', path });
    this.#inner.syncDirectorySync(path);
  }

  #opened(handle: FileHandle): FileHandle {
    this.openHandles += 1;
    return new RecordingHandle(this, handle);
  }
}

class RecordingHandle implements FileHandle {
  readonly path: string;
  readonly #log: RecordingFileSystem;
  readonly #inner: FileHandle;

  constructor(log: RecordingFileSystem, inner: FileHandle) {
    this.path = inner.path;
    this.#log = log;
    this.#inner = inner;
  }

  writeSync(source: Uint8Array, offset: number, length: number, position: number): number {
    const bound = this.#log.record({ operation: 'write', path: this.path, length });
    return this.#inner.writeSync(source, offset, bound, position);
  }

  readSync(target: Uint8Array, offset: number, length: number, position: number): number {
    const bound = this.#log.record({ operation: 'read', path: this.path, length });
    return this.#inner.readSync(target, offset, bound, position);
  }

  syncSync(): void {
    this.#log.record({ operation: 'sync', path: this.path });
    this.#inner.syncSync();
  }

  sizeSync(): number {
    this.#log.record({ operation: 'size', path: this.path });
    return this.#inner.sizeSync();
  }

  truncateSync(size: number): void {
    this.#log.record({ operation: 'truncate', path: this.path });
    this.#inner.truncateSync(size);
  }

  closeSync(): void {
    this.#log.openHandles -= 1;
    this.#inner.closeSync();
    this.#log.record({ operation: 'close', path: this.path });
  }

  async write(source: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    const bound = await this.#log.recordAsync({ operation: 'write', path: this.path, length });
    return this.#inner.write(source, offset, bound, position);
  }

  async read(target: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    const bound = await this.#log.recordAsync({ operation: 'read', path: this.path, length });
    return this.#inner.read(target, offset, bound, position);
  }

  async sync(): Promise<void> {
    await this.#log.recordAsync({ operation: 'sync', path: this.path });
    await this.#inner.sync();
  }

  async close(): Promise<void> {
    this.#log.openHandles -= 1;
    await this.#inner.close();
    await this.#log.recordAsync({ operation: 'close', path: this.path });
  }
}
