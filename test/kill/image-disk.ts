/** A file system in an image file. Needs root and loop devices. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runSync } from '../support/child-processes.ts';
import type { FileSystemName } from './image-mounts.ts';

const MOUNT_ATTEMPTS = 1_000;

/**
 * Mounts an image again. Where another process has taken its own view of all mounts meanwhile, a file system that died
 * lives on until that ends, and would be mounted once more.
 */
export function mountImage(image: string, path: string): void {
  for (let attempt = 0; attempt < MOUNT_ATTEMPTS; attempt += 1) {
    runSync('mount', '-o', 'loop', image, path);
    if (isAlive(path)) return;
    runSync('umount', path);
    runSync('sleep', '0.2');
  }
  throw new Error(`${path}: the file system that was cut is still mounted elsewhere`);
}

function isAlive(path: string): boolean {
  try {
    writeFileSync(join(path, 'alive'), '');
    return true;
  } catch {
    return false;
  }
}

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

  mount(): void {
    mountImage(this.#image, this.path);
    this.#mounted = true;
  }

  unmount(): void {
    if (this.#mounted) runSync('umount', this.path);
    this.#mounted = false;
  }
}
