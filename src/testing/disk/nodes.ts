/**
 * Files and directories of a simulated disk. Each knows what a power loss would leave of it. A node that is part of a
 * snapshot is frozen: whoever changes it makes a copy first, so that snapshots cost little and share all pages.
 */
import { PAGE_BYTES } from '../../base/bytes.ts';

export const SECTOR_BYTES = 512;
export const SECTORS_PER_PAGE: number = PAGE_BYTES / SECTOR_BYTES;

/** 4,096 bytes that are never written to again; `undefined` is zeros. */
export type Page = Uint8Array | undefined;

const ZEROS = new Uint8Array(PAGE_BYTES);

export class FileNode {
  readonly kind = 'file';
  frozen = false;
  /** What a reader sees. */
  readonly pages: Page[];
  size: number;
  durableSize: number;
  modifiedAt: number;
  /** Pages that are not known to be on the disk: their images since the durable one, which comes first. */
  readonly unsynced: Map<number, readonly Page[]>;
  /**
   * Pages that a failed sync dropped, with what is on the disk. The system takes them for clean: no later sync brings
   * them there.
   */
  readonly lost: Map<number, Page>;

  constructor(from?: FileNode) {
    this.pages = from?.pages.slice() ?? [];
    this.size = from?.size ?? 0;
    this.durableSize = from?.durableSize ?? 0;
    this.modifiedAt = from?.modifiedAt ?? 0;
    this.unsynced = new Map(from?.unsynced);
    this.lost = new Map(from?.lost);
  }

  get isSettled(): boolean {
    return this.unsynced.size === 0 && this.lost.size === 0 && this.size === this.durableSize;
  }

  read(target: Uint8Array, position: number): number {
    const length = Math.max(0, Math.min(target.length, this.size - position));
    for (let done = 0; done < length;) {
      const at = position + done;
      const within = at % PAGE_BYTES;
      const count = Math.min(PAGE_BYTES - within, length - done);
      const page = this.pages[Math.floor(at / PAGE_BYTES)];
      if (page === undefined) target.fill(0, done, done + count);
      else if (count === PAGE_BYTES) target.set(page, done);
      else target.set(page.subarray(within, within + count), done);
      done += count;
    }
    return length;
  }

  write(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.length;) {
      const at = position + done;
      const within = at % PAGE_BYTES;
      const count = Math.min(PAGE_BYTES - within, bytes.length - done);
      this.#change(Math.floor(at / PAGE_BYTES), within, bytes.subarray(done, done + count));
      done += count;
    }
    this.size = Math.max(this.size, position + bytes.length);
  }

  truncate(size: number): void {
    const end = Math.ceil(size / PAGE_BYTES);
    for (let page = end; page < this.pages.length; page += 1) this.#replace(page, undefined);
    const within = size % PAGE_BYTES;
    // What lies behind the end reads as zeros when the file grows again.
    if (size < this.size && within > 0 && this.pages[end - 1] !== undefined) {
      this.#change(end - 1, within, ZEROS.subarray(within));
    }
    this.pages.length = Math.min(this.pages.length, end);
    this.size = size;
  }

  /** The pages of a range, or all of them, are on the disk, and how long the file is. */
  sync(position = 0, length: number = Infinity): void {
    this.durableSize = this.size;
    if (position === 0 && length === Infinity) {
      this.unsynced.clear();
      return;
    }
    const last = Math.floor((position + length - 1) / PAGE_BYTES);
    for (let page = Math.floor(position / PAGE_BYTES); page <= last; page += 1) this.unsynced.delete(page);
  }

  failSync(): void {
    for (const [page, images] of this.unsynced) this.lost.set(page, images[0]);
    this.unsynced.clear();
  }

  #change(page: number, within: number, bytes: Uint8Array): void {
    const before = this.pages[page];
    // Nothing changes on a disk that is written what it holds.
    const old = (before ?? ZEROS).subarray(within, within + bytes.length);
    if (!this.lost.has(page) && page < this.pages.length && Buffer.compare(old, bytes) === 0) return;
    // A new file that is written with zeros takes no memory for them.
    if (bytes.length === PAGE_BYTES && Buffer.compare(bytes, ZEROS) === 0) {
      this.#replace(page, undefined);
      return;
    }
    const after = new Uint8Array(PAGE_BYTES);
    if (before !== undefined) after.set(before);
    after.set(bytes, within);
    this.#replace(page, after);
  }

  #replace(page: number, image: Page): void {
    const durable = this.lost.has(page) ? this.lost.get(page) : this.pages[page];
    this.lost.delete(page);
    this.unsynced.set(page, [...(this.unsynced.get(page) ?? [durable]), image]);
    this.pages[page] = image;
  }
}

/** A change of a directory that is not known to be on the disk. */
export type NameChange =
  | { readonly type: 'link'; readonly name: string; readonly node: number }
  | { readonly type: 'unlink'; readonly name: string; readonly node: number }
  | { readonly type: 'rename'; readonly from: string; readonly name: string; readonly node: number };

export class DirectoryNode {
  readonly kind = 'directory';
  frozen = false;
  /** What a reader sees: nodes by name. */
  readonly entries: Map<string, number>;
  durable: ReadonlyMap<string, number>;
  /** In the order in which they were made. */
  unsynced: readonly NameChange[];

  constructor(from?: DirectoryNode) {
    this.entries = new Map(from?.entries);
    this.durable = from?.durable ?? new Map();
    this.unsynced = from?.unsynced ?? [];
  }

  get isSettled(): boolean {
    return this.unsynced.length === 0;
  }

  change(change: NameChange): void {
    applyNameChange(this.entries, change);
    this.unsynced = [...this.unsynced, change];
  }

  sync(): void {
    if (this.unsynced.length === 0) return;
    this.durable = new Map(this.entries);
    this.unsynced = [];
  }
}

export type DiskNode = FileNode | DirectoryNode;

/** Files and directories by number. */
export interface Nodes {
  get(number: number): DiskNode | undefined;
}

/** The directory that all paths begin in. */
export const ROOT = 0;

export function applyNameChange(entries: Map<string, number>, change: NameChange): void {
  if (change.type === 'unlink') {
    entries.delete(change.name);
    return;
  }
  if (change.type === 'rename') entries.delete(change.from);
  entries.set(change.name, change.node);
}
