/** A file system in an image file. Needs root and loop devices. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runSync } from '../support/child-processes.ts';
import type { FileSystemName } from './image-mounts.ts';

const MOUNT_ATTEMPTS = 100;

export class ImageDisk {
  /** Where the file system is mounted. */
  readonly path: string;
  readonly #image: string;
  #mounted = false;

  constructor(directory: string, name: FileSystemName, mebibytes: number) {
    this.path = join(directory, 'disk');
    this.#image = join(directory, 'image');
    mkdirSync(this.path);
    runSync('truncate', '-s', `${mebibytes}M`, this.#image);
    runSync(`mkfs.${name}`, '-q', this.#image);
    this.mount();
  }

  /**
   * Mounts it again. Where another process has taken its own view of all mounts meanwhile, a file system that died
   * lives on until that ends, and would be mounted once more.
   */
  mount(): void {
    for (let attempt = 0; attempt < MOUNT_ATTEMPTS; attempt += 1) {
      runSync('mount', '-o', 'loop', this.#image, this.path);
      this.#mounted = true;
      if (this.#isAlive()) return;
      this.unmount();
      runSync('sleep', '0.2');
    }
    throw new Error(`${this.path}: the file system that was cut is still mounted elsewhere`);
  }

  unmount(): void {
    if (this.#mounted) runSync('umount', this.path);
    this.#mounted = false;
  }

  #isAlive(): boolean {
    try {
      writeFileSync(join(this.path, 'alive'), '');
      return true;
    } catch {
      return false;
    }
  }
}
