/**
 * The floor: what the disk and a copy cost, no more. It copies the records into page-aligned memory, overwrites
 * a file that was written before, past the page cache, and syncs. No checksum, no index, no promise, no reader: what a
 * plain script gets out of this machine, in this process, in this minute.
 */
import { closeSync, constants, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { alignUp, PAGE_BYTES } from '../src/base/bytes.ts';
import { allocatePages } from '../src/base/page-memory.ts';
import { MIB } from '../src/limits/limits.ts';

/** As large as the default ring: as much of the disk is overwritten again and again. */
const FILE_BYTES = 128 * MIB;
const BUFFER_BYTES = MIB;
/** Not defined where the system has no such thing; files are written through the page cache there. */
const DIRECT = (constants as { O_DIRECT?: number }).O_DIRECT ?? 0;

export interface FloorBurst {
  readonly seconds: number;
  /** The part of it spent on copying records. */
  readonly copySeconds: number;
}

export class Floor {
  readonly #file: number;
  readonly #buffer: Buffer;
  #position = 0;

  constructor(dir: string) {
    const memory = allocatePages(BUFFER_BYTES);
    this.#buffer = Buffer.from(memory.buffer, 0, BUFFER_BYTES);
    this.#file = openForOverwriting(join(dir, 'floor'), this.#buffer);
    for (let written = 0; written < FILE_BYTES; written += BUFFER_BYTES) this.#write(BUFFER_BYTES);
    fdatasyncSync(this.#file);
  }

  /** `count` records, 1 MiB at a time, each MiB durable before the next. */
  burst(records: readonly Buffer[], count: number): FloorBurst {
    const begun = performance.now();
    const mask = records.length - 1;
    let copySeconds = 0;
    for (let index = 0; index < count;) {
      const copyBegun = performance.now();
      let used = 0;
      for (; index < count; index += 1) {
        const record = records[index & mask]!;
        if (used + record.length > BUFFER_BYTES) break;
        record.copy(this.#buffer, used);
        used += record.length;
      }
      copySeconds += (performance.now() - copyBegun) / 1_000;
      this.#sync(used);
    }
    return { seconds: (performance.now() - begun) / 1_000, copySeconds };
  }

  /** `groups` groups of `size` records, each group durable before the next. Returns the milliseconds of each. */
  groups(records: readonly Buffer[], size: number, groups: number): Float64Array {
    const times = new Float64Array(groups);
    const mask = records.length - 1;
    for (let group = 0; group < groups; group += 1) {
      const begun = performance.now();
      let used = 0;
      for (let index = 0; index < size; index += 1) {
        const record = records[(group * size + index) & mask]!;
        record.copy(this.#buffer, used);
        used += record.length;
      }
      this.#sync(used);
      times[group] = performance.now() - begun;
    }
    return times;
  }

  /** All of `records`, durable when it returns. */
  write(records: readonly Buffer[]): void {
    let used = 0;
    for (const record of records) {
      if (used + record.length > BUFFER_BYTES) {
        this.#sync(used);
        used = 0;
      }
      record.copy(this.#buffer, used);
      used += record.length;
    }
    this.#sync(used);
  }

  close(): void {
    closeSync(this.#file);
  }

  #sync(bytes: number): void {
    this.#write(alignUp(bytes, PAGE_BYTES));
    fdatasyncSync(this.#file);
  }

  #write(bytes: number): void {
    if (this.#position + bytes > FILE_BYTES) this.#position = 0;
    const written = writeSync(this.#file, this.#buffer, 0, bytes, this.#position);
    if (written !== bytes) throw new Error(`the disk is full: ${written} of ${bytes} bytes were written`);
    this.#position += bytes;
  }
}

/** Direct where the file system takes it: some refuse at open, others at the first write. */
function openForOverwriting(path: string, buffer: Buffer): number {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC;
  try {
    const file = openSync(path, flags | DIRECT);
    writeSync(file, buffer, 0, PAGE_BYTES, 0);
    return file;
  } catch (error) {
    if (DIRECT === 0 || (error as NodeJS.ErrnoException).code !== 'EINVAL') throw error;
    return openSync(path, flags);
  }
}
