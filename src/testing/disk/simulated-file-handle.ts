/** An open file of a simulated disk. */
import { PAGE_BYTES } from '../../base/bytes.ts';
import type { FileHandle, OpenMode } from '../../base/file-system.ts';
import { type DiskCall, type DiskFault, systemError } from './calls.ts';
import type { FileNode } from './nodes.ts';
import type { DiskReads } from './reads.ts';

/** What a handle needs of its disk. Files are named by number: a snapshot may put a copy in a file's place. */
export interface HandleHost {
  readonly reads: DiskReads | undefined;
  /** Counts the call; throws the error that it is told to end in, and returns any other fault. */
  begin(call: DiskCall): DiskFault | undefined;
  /** The call has changed something. */
  end(call: DiskCall): void;
  fileOf(call: DiskCall, file: number): FileNode;
  changingFile(call: DiskCall, file: number): FileNode;
  closed(file: number): void;
}

export class SimulatedFileHandle implements FileHandle {
  readonly path: string;
  readonly #disk: HandleHost;
  readonly #node: number;
  readonly #mode: OpenMode;
  #closed = false;

  constructor(disk: HandleHost, path: string, node: number, mode: OpenMode) {
    this.path = path;
    this.#disk = disk;
    this.#node = node;
    this.#mode = mode;
  }

  writeSync(source: Uint8Array, offset: number, length: number, position: number): number {
    const call: DiskCall = { operation: 'write', path: this.path, position, length };
    const fault = this.#begin(call);
    if (this.#mode.access === 'read') throw systemError('EBADF', call);
    this.#checkAlignment(call, source.byteOffset + offset, length, position);
    const count = fault !== undefined && 'bytes' in fault ? Math.min(fault.bytes, length) : length;
    this.#disk.changingFile(call, this.#node).write(source.subarray(offset, offset + count), position);
    this.#disk.end(call);
    if (this.#mode.dataSync === true && count > 0) {
      this.#disk.changingFile(call, this.#node).sync(position, count);
      this.#disk.end({ operation: 'sync', path: this.path, position, length: count });
    }
    return count;
  }

  readSync(target: Uint8Array, offset: number, length: number, position: number): number {
    const call: DiskCall = { operation: 'read', path: this.path, position, length };
    const fault = this.#begin(call);
    this.#checkAlignment(call, target.byteOffset + offset, length, position);
    const count = fault !== undefined && 'bytes' in fault ? Math.min(fault.bytes, length) : length;
    this.#disk.reads?.content(this.#node, position, count);
    return this.#disk.fileOf(call, this.#node).read(target.subarray(offset, offset + count), position);
  }

  syncSync(): void {
    const call: DiskCall = { operation: 'sync', path: this.path };
    this.#checkOpen(call);
    let fault: DiskFault | undefined;
    try {
      fault = this.#disk.begin(call);
    } catch (error) {
      this.#disk.changingFile(call, this.#node).failSync();
      throw error;
    }
    const lies = fault !== undefined && 'lie' in fault;
    if (lies || this.#disk.fileOf(call, this.#node).isSettled) return;
    this.#disk.changingFile(call, this.#node).sync();
    this.#disk.end(call);
  }

  sizeSync(): number {
    const call: DiskCall = { operation: 'size', path: this.path };
    this.#begin(call);
    this.#disk.reads?.size(this.#node);
    return this.#disk.fileOf(call, this.#node).size;
  }

  truncateSync(size: number): void {
    const call: DiskCall = { operation: 'truncate', path: this.path, length: size };
    this.#begin(call);
    this.#disk.changingFile(call, this.#node).truncate(size);
    this.#disk.end(call);
  }

  closeSync(): void {
    const call: DiskCall = { operation: 'close', path: this.path };
    this.#checkOpen(call);
    this.#closed = true;
    this.#disk.closed(this.#node);
    this.#disk.begin(call);
  }

  async write(source: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return this.writeSync(source, offset, length, position);
  }

  async read(target: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return this.readSync(target, offset, length, position);
  }

  async sync(): Promise<void> {
    this.syncSync();
  }

  async close(): Promise<void> {
    this.closeSync();
  }

  #begin(call: DiskCall): DiskFault | undefined {
    this.#checkOpen(call);
    return this.#disk.begin(call);
  }

  #checkOpen(call: DiskCall): void {
    if (this.#closed) throw systemError('EBADF', call);
  }

  /** Direct I/O takes whole pages only, from page-aligned memory. */
  #checkAlignment(call: DiskCall, ...values: number[]): void {
    if (this.#mode.direct !== true) return;
    if (values.some((value) => value % PAGE_BYTES !== 0)) throw systemError('EINVAL', call);
  }
}
