/** A file system in an image file whose power can be cut. Needs root, loop devices and a C compiler. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runSync } from '../support/child-processes.ts';
import type { FileSystemName } from './image-mounts.ts';

const SOURCE: string = join(import.meta.dirname, '..', '..', '..', 'test', 'kill', 'power-cut.c');
const IMAGE_MIB = 256;
const MOUNT_ATTEMPTS = 100;

export class CuttableDisk {
  /** Where the file system is mounted. */
  readonly path: string;
  readonly #image: string;
  readonly #cutter: string;
  #mounted = false;

  constructor(directory: string, name: FileSystemName) {
    this.path = join(directory, 'disk');
    this.#image = join(directory, 'image');
    this.#cutter = join(directory, 'power-cut');
    mkdirSync(this.path);
    runSync('cc', '-o', this.#cutter, SOURCE);
    runSync('truncate', '-s', `${name === 'xfs' ? 2 * IMAGE_MIB : IMAGE_MIB}M`, this.#image);
    runSync(`mkfs.${name}`, '-q', this.#image);
    this.mount();
  }

  /**
   * Mounts it again. Where another process has taken its own view of all mounts meanwhile, the dead file system lives
   * on until that ends, and would be mounted once more.
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

  #isAlive(): boolean {
    try {
      writeFileSync(join(this.path, 'alive'), '');
      return true;
    } catch {
      return false;
    }
  }

  /** From now on nothing reaches the disk, whoever goes on writing. Returns when that was: see `monotonicNow`. */
  cut(): number {
    return Number(runSync(this.#cutter, this.path));
  }

  unmount(): void {
    if (this.#mounted) runSync('umount', this.path);
    this.#mounted = false;
  }
}
