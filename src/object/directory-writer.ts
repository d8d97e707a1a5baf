/**
 * Writes one object of a directory store. It runs in pool workers. Large writes go on beside what the worker does next:
 * it reads, compresses and checksums while the disk works. Small ones and the commit block, since the way through the
 * thread pool costs 70-120 us more than the same calls made directly.
 *
 * The order is the guarantee: data, sync, rename, directory sync. A power loss at any point leaves either no object
 * under the key or the whole one. A sync that failed is never tried again: the kernel may have dropped the dirty pages
 * and would report success.
 */
import { dirname } from 'node:path';
import { assert } from '../base/assert.ts';
import { PAGE_BYTES } from '../base/bytes.ts';
import type { FileHandle, FileSystem } from '../base/file-system.ts';
import { isSystemError } from '../base/node-file-system.ts';
import { KIB, WRITE_BYTES_MAX } from '../limits/limits.ts';
import { diskFull, objectExists, writeFailed } from './object-errors.ts';
import type { ObjectWriter } from './object-store.ts';

/** A smaller write is over before another thread has begun it. */
const BESIDE_BYTES_MIN: number = 256 * KIB;

export interface DirectoryWriterOptions {
  readonly fileSystem: FileSystem;
  readonly key: string;
  /** In the directory of `path`: a rename is atomic only inside one file system. */
  readonly temporaryPath: string;
  readonly path: string;
  /** Whether to bypass the page cache where the file system offers it. */
  readonly direct: boolean;
}

export class DirectoryWriter implements ObjectWriter {
  readonly #options: DirectoryWriterOptions;
  #file: FileHandle | undefined;
  #direct: boolean;
  #bytes = 0;
  #state: 'open' | 'failed' | 'committed' | 'aborted' = 'open';
  #renamed = false;
  /** The write under way, which never rejects: the file stays open until it has ended. */
  #writing: Promise<void> | undefined;

  constructor(options: DirectoryWriterOptions) {
    this.#options = options;
    this.#direct = options.direct;
    this.#guard(() => {
      this.#file = this.#create();
    });
  }

  async write(bytes: Uint8Array): Promise<void> {
    assert(this.#state === 'open', 'a writer takes bytes until it failed or ended');
    assert(this.#writing === undefined, 'one write at a time');
    const writing = this.#writePieces(bytes);
    this.#writing = writing.catch(() => undefined);
    try {
      await writing;
    } catch (error) {
      throw this.#failed(error);
    } finally {
      this.#writing = undefined;
    }
  }

  async commit(): Promise<number> {
    assert(this.#state === 'open', 'a writer commits once, and not after a failure');
    assert(this.#writing === undefined, 'a commit syncs what was written, so nothing may still be on its way');
    const { fileSystem, key, path, temporaryPath } = this.#options;
    this.#guard(() => {
      this.#openFile().syncSync();
      this.#closeFile();
      if (fileSystem.statSync(path) !== undefined) throw objectExists(key, dirname(path));
      fileSystem.renameSync(temporaryPath, path);
      this.#renamed = true;
      fileSystem.syncDirectorySync(dirname(path));
    });
    this.#state = 'committed';
    return this.#bytes;
  }

  async abort(): Promise<void> {
    if (this.#state === 'committed' || this.#state === 'aborted') return;
    this.#state = 'aborted';
    // Its descriptor may be another file's the moment it is closed.
    await this.#writing;
    const { fileSystem, path, temporaryPath } = this.#options;
    attempt(() => this.#closeFile());
    attempt(() => fileSystem.removeSync(temporaryPath));
    // The directory sync failed: nobody was told that the object exists.
    if (this.#renamed) attempt(() => fileSystem.removeSync(path));
  }

  #create(): FileHandle {
    const { fileSystem, temporaryPath } = this.#options;
    if (this.#direct) {
      try {
        return fileSystem.openSync(temporaryPath, { access: 'create', direct: true });
      } catch (error) {
        if (!isSystemError(error, 'EINVAL')) throw error;
        // Linux creates the file first and refuses the flag afterwards.
        fileSystem.removeSync(temporaryPath);
        this.#direct = false;
      }
    }
    return fileSystem.openSync(temporaryPath, { access: 'create' });
  }

  async #writePieces(bytes: Uint8Array): Promise<void> {
    if (this.#direct && !isAligned(bytes, this.#bytes)) this.#continueBuffered();
    // The most the kernel takes in one call is 2 GiB; a longer write would look like a full disk.
    for (let offset = 0; offset < bytes.byteLength; offset += WRITE_BYTES_MAX) {
      const length = Math.min(WRITE_BYTES_MAX, bytes.byteLength - offset);
      const written = await this.#writePiece(bytes, offset, length);
      if (written !== length) throw diskFull(this.#options.temporaryPath);
      this.#bytes += length;
    }
  }

  async #writePiece(bytes: Uint8Array, offset: number, length: number): Promise<number> {
    try {
      return await this.#writeAt(bytes, offset, length);
    } catch (error) {
      // Memory that is not page aligned cannot be told apart beforehand: only the kernel knows its address.
      if (!this.#direct || !isSystemError(error, 'EINVAL')) throw error;
      this.#continueBuffered();
      return this.#writeAt(bytes, offset, length);
    }
  }

  #writeAt(bytes: Uint8Array, offset: number, length: number): number | Promise<number> {
    const file = this.#openFile();
    if (length < BESIDE_BYTES_MIN) return file.writeSync(bytes, offset, length, this.#bytes);
    return file.write(bytes, offset, length, this.#bytes);
  }

  /** What was written directly is on the device already, or in its cache, which the one sync at the end flushes. */
  #continueBuffered(): void {
    this.#closeFile();
    this.#direct = false;
    this.#file = this.#options.fileSystem.openSync(this.#options.temporaryPath, { access: 'write' });
  }

  #openFile(): FileHandle {
    assert(this.#file !== undefined, 'the file is open until commit or abort');
    return this.#file;
  }

  #closeFile(): void {
    const file = this.#file;
    this.#file = undefined;
    file?.closeSync();
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Any failure ends the writer: what the file holds is not known any more. */
  #failed(error: unknown): Error {
    if (this.#state === 'open') this.#state = 'failed';
    return writeFailed(this.#options.temporaryPath, error);
  }
}

function isAligned(bytes: Uint8Array, position: number): boolean {
  return position % PAGE_BYTES === 0 && bytes.byteLength % PAGE_BYTES === 0 && bytes.byteOffset % PAGE_BYTES === 0;
}

/** Cleaning up must not hide the error that led here. What stays behind is removed when the store is opened again. */
function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // Nothing better is known than to go on with the rest.
  }
}
