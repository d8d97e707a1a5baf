/** A file system in an image file whose power can be cut. Needs root, loop devices and a C compiler. */
import { join } from 'node:path';
import { runSync } from '../support/child-processes.ts';
import { ImageDisk } from './image-disk.ts';
import type { FileSystemName } from './image-mounts.ts';

const SOURCE: string = join(import.meta.dirname, '..', '..', '..', 'test', 'kill', 'power-cut.c');
const IMAGE_MIB = 2_048;

export class CuttableDisk extends ImageDisk {
  readonly #cutter: string;

  constructor(directory: string, name: FileSystemName) {
    super(directory, name, IMAGE_MIB);
    this.#cutter = join(directory, 'power-cut');
    runSync('cc', '-o', this.#cutter, SOURCE);
  }

  /** From now on nothing reaches the disk, whoever goes on writing. Returns when that was: see `monotonicNow`. */
  cut(): number {
    return Number(runSync(this.#cutter, this.path));
  }
}
