/** Where the store of a soak is, and how its room ends for a while. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { fillUp } from '../kill/ballast.ts';
import { ImageDisk } from '../kill/image-disk.ts';
import { whyNoImageMounts } from '../kill/image-mounts.ts';
import { type FaultRule, Faults, whyNoShim } from '../support/fault-shim.ts';

export interface Room {
  /** Where the store is made. */
  readonly path: string;
  /** How its disk becomes full, as a phrase; `undefined` where it cannot. */
  readonly how: string | undefined;
  /** Why it is not done in a better way; `undefined` where it is the best. */
  readonly reason: string | undefined;
  /** What a process needs in its environment whose disk will be full. */
  readonly environment: Readonly<Record<string, string>>;
  /** From now on there is no room for anything. */
  fill(): void;
  /** There is room again. */
  free(): void;
  close(): void;
}

/** The best there is here. `scratch` is an empty directory. */
export function makeRoom(scratch: string): Room {
  const noImage = whyNoImageMounts('ext4');
  if (noImage === undefined) return new ImageRoom(scratch);
  const noShim = whyNoShim();
  if (noShim === undefined) return new ShimRoom(scratch, noImage);
  return new PlainRoom(scratch, `${noImage}, and ${noShim}`);
}

const IMAGE_MIB = 256;
/** Of a file system that is not filled at once, but block by block. */
const REST_BYTES = 4 * 1024 * 1024;
/** What others delete meanwhile is taken, too. */
const REFILL_INTERVAL = 50;

class ImageRoom implements Room {
  readonly how = `ext4 of ${IMAGE_MIB} MiB in an image, filled to its last block`;
  readonly reason = undefined;
  readonly environment = {};
  readonly path: string;
  readonly #disk: ImageDisk;
  readonly #ballast: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(scratch: string) {
    this.#disk = new ImageDisk(scratch, 'ext4', IMAGE_MIB);
    this.path = this.#disk.path;
    this.#ballast = join(this.path, 'ballast');
  }

  fill(): void {
    const { bfree, bsize } = statfsSync(this.path);
    // Quick where there is such a program; what is left is written.
    spawnSync('fallocate', ['-l', String(Math.max(1, bfree * bsize - REST_BYTES)), this.#ballast]);
    fillUp(this.#ballast);
    this.#timer = setInterval(() => {
      fillUp(this.#ballast);
    }, REFILL_INTERVAL);
  }

  free(): void {
    clearInterval(this.#timer);
    rmSync(this.#ballast, { force: true });
  }

  close(): void {
    this.free();
    this.#disk.unmount();
  }
}

/** Files that grow, or are made; what is written again and again in its place has its room. */
const GROWTH: readonly Pick<FaultRule, 'operation' | 'path'>[] = [
  { operation: 'open', path: '/' },
  { operation: 'make', path: '/' },
  { operation: 'write', path: '/objects/' },
  { operation: 'write', path: '/manifest/' },
];

class ShimRoom implements Room {
  readonly how = 'every call that needs a block fails with ENOSPC, by a library loaded before all others';
  readonly reason: string;
  readonly path: string;
  readonly #faults: Faults;

  constructor(scratch: string, reason: string) {
    this.reason = reason;
    this.path = join(scratch, 'disk');
    mkdirSync(this.path);
    this.#faults = new Faults(this.path, scratch);
    this.free();
  }

  get environment(): Readonly<Record<string, string>> {
    return { ...this.#faults.environment, MILLRACE_FAULT_LOG: '' };
  }

  fill(): void {
    this.#faults.arm(...GROWTH.map((call) => ({ ...call, first: 1, last: 2 ** 31, action: 'ENOSPC' as const })));
  }

  free(): void {
    this.#faults.arm();
  }

  close(): void {
    this.free();
  }
}

class PlainRoom implements Room {
  readonly how = undefined;
  readonly reason: string;
  readonly path: string;
  readonly environment = {};

  constructor(scratch: string, reason: string) {
    this.reason = reason;
    this.path = join(scratch, 'disk');
    if (!existsSync(this.path)) mkdirSync(this.path);
  }

  fill(): void {
    throw new Error(`no disk becomes full here: ${this.reason}`);
  }

  free(): void {
    // There is nothing to free.
  }

  close(): void {
    // There is nothing to give back.
  }
}
