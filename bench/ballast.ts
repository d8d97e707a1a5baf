/**
 * Warms memory for every side alike. On virtual machines, memory that nobody has touched lately is not backed by the
 * host: its first touch costs 2 to 3 times what a copy costs, and whoever runs first pays for all. A file as large as
 * the free memory fills the page cache; from then on every new page, of whichever side, was in use before.
 */
import { closeSync, fdatasyncSync, openSync, readFileSync, readSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GIB, MIB } from '../src/limits/limits.ts';

const PIECE_BYTES = 8 * MIB;
/** So much may stay free: it is less than one workload uses. */
const FREE_BYTES = GIB / 2;
/** The ballast leaves this share of the disk's free space. */
const DISK_SHARE_MAX = 0.5;

export class Ballast {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #piece: Buffer = Buffer.alloc(PIECE_BYTES, 0x5a);
  #bytes = 0;

  /** `maxBytes` 0 makes a ballast that does nothing. */
  constructor(dir: string, maxBytes: number) {
    this.#path = join(dir, 'ballast');
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Fills free memory, first with what is there of the file and then by making it longer. */
  fill(): void {
    if (this.#maxBytes === 0 || freeMemory() <= FREE_BYTES) return;
    const file = openSync(this.#path, 'a+');
    try {
      this.#read(file);
      this.#grow(file);
    } finally {
      closeSync(file);
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }

  #read(file: number): void {
    for (let position = 0; position < this.#bytes && freeMemory() > FREE_BYTES; position += PIECE_BYTES) {
      readSync(file, this.#piece, 0, PIECE_BYTES, position);
    }
  }

  #grow(file: number): void {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    const room = Math.min(this.#maxBytes, this.#bytes + bavail * bsize * DISK_SHARE_MAX);
    let unsynced = 0;
    while (freeMemory() > FREE_BYTES && this.#bytes + PIECE_BYTES <= room) {
      this.#bytes += writeSync(file, this.#piece);
      unsynced += PIECE_BYTES;
      // Written back now, it cannot be written back while something is measured.
      if (unsynced >= GIB) {
        fdatasyncSync(file);
        unsynced = 0;
      }
    }
    fdatasyncSync(file);
  }
}

/** Memory that holds nothing at all; 0 where the system does not tell. */
function freeMemory(): number {
  try {
    const match = /^MemFree:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'));
    return match === null ? 0 : Number(match[1]) * 1_024;
  } catch {
    return 0;
  }
}
