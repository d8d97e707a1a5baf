/**
 * The operating system's files as an interface with a written contract. `NodeFileSystem` is the real one; a simulated
 * disk implements the same contract and decides what a power loss keeps.
 *
 * Blocking calls (`...Sync`) belong to worker threads and to `open`; the thread of the application uses the
 * asynchronous ones, except for short reads that the page cache is likely to answer. Paths are absolute.
 */

/** An open file. A handle is used by one owner at a time. */
export interface FileHandle {
  readonly path: string;
  /**
   * Writes `length` bytes of `source`, from `offset`, at `position`. Returns the number of bytes written, which may be
   * short WITHOUT an error (a disk that fills up midway): every caller compares it with what it asked for.
   * Throws the system's error otherwise.
   */
  writeSync(source: Uint8Array, offset: number, length: number, position: number): number;
  /** Reads up to `length` bytes into `target` at `offset`. Returns the count; 0 at the end of the file. */
  readSync(target: Uint8Array, offset: number, length: number, position: number): number;
  /** Makes all data written so far durable. After an error nothing about unsynced data is known: never retry. */
  syncSync(): void;
  sizeSync(): number;
  truncateSync(size: number): void;
  closeSync(): void;

  /** As `writeSync`, off the calling thread. */
  write(source: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** As `readSync`, off the calling thread. */
  read(target: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** As `syncSync`, off the calling thread. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** How a file is opened. */
export interface OpenMode {
  /** `read`: must exist, read only. `write`: must exist, read and write. `create`: must not exist, read and write. */
  readonly access: 'read' | 'write' | 'create';
  /**
   * Bypass the page cache. Positions, lengths and the address of the memory must then be multiples of 4,096.
   * Throws `EINVAL` where the file system does not offer it.
   */
  readonly direct?: boolean;
  /** Every write returns only when its data is durable, as if followed by `syncSync`. */
  readonly dataSync?: boolean;
}

export interface FileStat {
  readonly kind: 'file' | 'directory' | 'other';
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** Directory and file operations. Errors are the system's, with `code`. */
export interface FileSystem {
  /**
   * Does not follow a symbolic link in the last component, where the system can refuse it (ELOOP): whoever can plant
   * one in a store could otherwise make millrace read or overwrite files elsewhere.
   */
  openSync(path: string, mode: OpenMode): FileHandle;
  /** As `openSync`, off the calling thread. */
  open(path: string, mode: OpenMode): Promise<FileHandle>;
  /** `undefined` when nothing is there. Does not follow a symbolic link in the last component. */
  statSync(path: string): FileStat | undefined;
  /** Names in the directory, in no order. */
  listSync(path: string): string[];
  /** Creates the directory; an existing one is not an error. Parents must exist. */
  makeDirectorySync(path: string): void;
  /** Replaces the target in one step. Durable only after `syncDirectorySync` of the parent. */
  renameSync(from: string, to: string): void;
  /** Removes a file; a missing one is not an error. */
  removeSync(path: string): void;
  /** As `removeSync`, off the calling thread. */
  remove(path: string): Promise<void>;
  /** Removes an empty directory; a missing one is not an error. */
  removeDirectorySync(path: string): void;
  /** Makes creations, renames and removals in the directory durable. */
  syncDirectorySync(path: string): void;
}
