/** Reads a file front to back through a buffer, whatever its size. */
import { assert } from '../../base/assert.ts';
import type { FileHandle } from '../../base/file-system.ts';
import { MillraceError } from '../../errors/millrace-error.ts';

const WINDOW_BYTES = 1024 * 1024;

/** What it reads from: a file, or something that can be read like one. */
export type WindowSource = Pick<FileHandle, 'path' | 'read'>;

export class FileWindow {
  readonly #handle: WindowSource;
  /** Bytes of the file; later growth is not looked at. */
  readonly size: number;
  #buffer: Uint8Array = new Uint8Array(0);
  /** Position of the buffer in the file, and how much of it is filled. */
  #position = 0;
  #filled = 0;

  constructor(handle: WindowSource, size: number) {
    this.#handle = handle;
    this.size = size;
  }

  get path(): string {
    return this.#handle.path;
  }

  /** The bytes [position, position + length), which the file has to hold. Valid until the next call. */
  async read(position: number, length: number): Promise<Uint8Array> {
    assert(position >= 0 && length >= 0 && position + length <= this.size, 'a read stays inside its file');
    const from = position - this.#position;
    if (from >= 0 && from + length <= this.#filled) return this.#buffer.subarray(from, from + length);
    const wanted = Math.min(Math.max(length, WINDOW_BYTES), this.size - position);
    if (this.#buffer.length < wanted) this.#buffer = new Uint8Array(wanted);
    this.#position = position;
    this.#filled = 0;
    while (this.#filled < length) {
      const count = await this.#readSome(position + this.#filled, wanted - this.#filled);
      this.#filled += count;
    }
    return this.#buffer.subarray(0, length);
  }

  async #readSome(position: number, length: number): Promise<number> {
    let count: number;
    try {
      count = await this.#handle.read(this.#buffer, this.#filled, length, position);
    } catch (cause) {
      throw new MillraceError('ERR_MILLRACE_READ_FAILED', `${this.path}: reading at ${position} failed`, {
        details: { file: this.path, position },
        cause,
      });
    }
    if (count > 0) return count;
    // Only another process that cuts the file can do this.
    throw new MillraceError('ERR_MILLRACE_READ_FAILED', `${this.path}: ended at ${position} while it was read`, {
      details: { file: this.path, position },
    });
  }
}
