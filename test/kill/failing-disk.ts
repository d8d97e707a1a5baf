/**
 * A disk that fails for real: a file system in a sparse image on a memory disk. Once the memory disk is full, the image
 * cannot grow, and whatever needs a block of it that was never written gets an error from the device, at the write or
 * only at the sync. Needs root and loop devices.
 */
import { accessSync, constants, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { runSync } from '../support/child-processes.ts';
import { fillUp } from './ballast.ts';
import { mountImage } from './image-disk.ts';
import { type FileSystemName, whyNoImageMounts } from './image-mounts.ts';

const MEMORY_MIB = 160;
const IMAGE_MIB = 512;

/**
 * The loop device calls a write done of which a part was, so a request must not be larger than what is there or not
 * there as one: a page of the memory disk.
 */
const REQUEST_KIB = 4;

/** Why no device can be made to fail here; `undefined` when it can. */
export function whyNoFailingDisk(name: FileSystemName): string | undefined {
  const unable = whyNoImageMounts(name);
  if (unable !== undefined) return unable;
  const setting = requestLimitOf('/dev/loop0');
  try {
    if (existsSync(setting)) accessSync(setting, constants.W_OK);
    return undefined;
  } catch {
    return `the size of requests cannot be set here (${setting})`;
  }
}

function requestLimitOf(device: string): string {
  return join('/sys/block', basename(device), 'queue/max_sectors_kb');
}

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
    mountImage(this.#image, this.path);
    const device = runSync('findmnt', '-n', '-o', 'SOURCE', this.path).trim();
    writeFileSync(requestLimitOf(device), String(REQUEST_KIB));
  }

  /** From now on no block can be written that was not written before. */
  fail(): void {
    fillUp(join(this.#memory, 'ballast'));
  }

  /** There is room again; what the system still held of the file system is forgotten. */
  repair(): void {
    runSync('umount', this.path);
    rmSync(join(this.#memory, 'ballast'));
    mountImage(this.#image, this.path);
  }

  remove(): void {
    runSync('umount', this.path);
    // Busy as long as another process has its own view of all mounts, in which the image is mounted.
    runSync('umount', '--lazy', this.#memory);
  }
}
