/**
 * Whether compaction is paused: a file beside the manifest, and not an event in it, so that whoever may write to the
 * directory can pause the process that holds the lock.
 */
import { join } from 'node:path';
import type { FileSystem } from '../../base/file-system.ts';
import { isSystemError } from '../../base/node-file-system.ts';
import { writeFailure } from '../../errors/write-failure.ts';

/** Empty. */
const PAUSE_MARK_NAME = 'COMPACTION-PAUSED';

export class PauseMark {
  readonly #fileSystem: FileSystem;
  readonly #directory: string;

  constructor(fileSystem: FileSystem, directory: string) {
    this.#fileSystem = fileSystem;
    this.#directory = directory;
  }

  get isSet(): boolean {
    return this.#fileSystem.statSync(this.#path) !== undefined;
  }

  set(paused: boolean): void {
    try {
      if (paused) this.#make();
      else this.#fileSystem.removeSync(this.#path);
      this.#fileSystem.syncDirectorySync(this.#directory);
    } catch (error) {
      throw writeFailure(this.#path, error);
    }
  }

  get #path(): string {
    return join(this.#directory, PAUSE_MARK_NAME);
  }

  #make(): void {
    try {
      this.#fileSystem.openSync(this.#path, { access: 'create' }).closeSync();
    } catch (error) {
      if (!isSystemError(error, 'EEXIST')) throw error;
    }
  }
}
