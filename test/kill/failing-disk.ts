/**
 * A disk that fails for real: a file system in a sparse image on a memory disk. Once the memory disk is full, the image
 * cannot grow, and whatever needs a block of it that was never written gets an error from the device, at the write or
 * only at the sync. Needs root and loop devices.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runSync } from '../support/child-processes.ts';
import { fillUp } from './ballast.ts';
import type { FileSystemName } from './image-mounts.ts';

const MEMORY_MIB = 160;
const IMAGE_MIB = 512;

export class FailingDisk {
  /** Where the file system is mounted. */
  readonly path: string;
  readonly #memory: string;
  readonly #image: string;

  constructor(directory: string, name: FileSystemName) {
    this.path = join(directory, 'disk');
    this.#memory = join(directory, 'memory');
    this.#image = join(this.#memory, 'image');
    mkdirSync(this.path);
    mkdirSync(this.#memory);
    runSync('mount', '-t', 'tmpfs', '-o', `size=${MEMORY_MIB}m`, 'none', this.#memory);
    runSync('truncate', '-s', `${IMAGE_MIB}M`, this.#image);
    runSync(`mkfs.${name}`, '-q', this.#image);
    runSync('mount', '-o', 'loop', this.#image, this.path);
  }

  /** From now on no block can be written that was not written before. */
  fail(): void {
    fillUp(join(this.#memory, 'ballast'));
  }

  /** There is room again; what the system still held of the file system is forgotten. */
  repair(): void {
    runSync('umount', this.path);
    rmSync(join(this.#memory, 'ballast'));
    runSync('mount', '-o', 'loop', this.#image, this.path);
  }

  remove(): void {
    runSync('umount', this.path);
    runSync('umount', this.#memory);
  }
}
