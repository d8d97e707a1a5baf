/** What a power loss leaves of a simulated disk: every choice that the loss makes, as an interface. */
import { PAGE_BYTES } from '../../base/bytes.ts';
import type { Random } from '../../base/random.ts';
import {
  applyNameChange,
  DirectoryNode,
  type DiskNode,
  FileNode,
  type NameChange,
  type Page,
  SECTOR_BYTES,
  SECTORS_PER_PAGE,
} from './nodes.ts';

/** Decides what of the changes that no sync has confirmed is on the disk. */
export interface Survival {
  /**
   * Which image of an unsynced page is there, of `images`; 0 is the durable one. A list says it for each of the eight
   * sectors.
   */
  page(path: string, page: number, images: number): number | readonly number[];
  /** Length of a file whose length was changed. */
  size(path: string, durable: number, live: number): number;
  /** Whether a creation, rename or removal in a directory is there; `index` of `count`, in their order. */
  name(directory: string, index: number, count: number): boolean;
}

/** For tests that say page by page what survives; names and lengths do. */
export function survivingPages(keep: (path: string, page: number) => boolean): Survival {
  return {
    page: (path, page, images) => (keep(path, page) ? images - 1 : 0),
    size: (_path, _durable, live) => live,
    name: () => true,
  };
}

const SHARES: readonly number[] = [0, 20, 50, 80, 100];

/**
 * A loss by chance. Each loss has its own share of what survives, tears at sectors or at pages, and keeps changes of
 * names as a journal does, in order, or as the strictest reading of the standard allows, each by itself.
 */
export function randomSurvival(random: Random): Survival {
  const data = SHARES[random.below(SHARES.length)] ?? 0;
  const names = SHARES[random.below(SHARES.length)] ?? 0;
  const tearsSectors = random.below(2) === 0;
  const isJournal = random.below(2) === 0;
  const cut = random.uint32() / 2 ** 32;
  const image = (images: number): number => (random.below(100) < data ? 1 + random.below(images - 1) : 0);
  return {
    page: (_path, _page, images) =>
      tearsSectors ? Array.from({ length: SECTORS_PER_PAGE }, () => image(images)) : image(images),
    size: (_path, durable, live) => {
      const choice = random.below(4);
      if (choice === 0) return durable;
      if (choice > 1) return live;
      const [low, high] = durable < live ? [durable, live] : [live, durable];
      return Math.min(high, low + SECTOR_BYTES * random.below(1 + Math.ceil((high - low) / SECTOR_BYTES)));
    },
    name: (_directory, index, count) => (isJournal ? index < cut * (count + 1) - 0.5 : random.below(100) < names),
  };
}

/** The nodes that are there after the loss, all of them durable. Those that lost nothing are shared. */
export function surviving(
  nodes: ReadonlyMap<number, DiskNode>,
  root: number,
  survival: Survival,
): Map<number, DiskNode> {
  const kept = new Map<number, DiskNode>();
  const visit = (number: number, path: string): void => {
    const node = nodes.get(number);
    if (node === undefined) return;
    if (node.kind === 'file') {
      kept.set(number, node.isSettled ? node : survivingFile(node, path, survival));
      return;
    }
    const entries = node.isSettled ? node.durable : survivingEntries(node, path, survival);
    if (node.isSettled) kept.set(number, node);
    else kept.set(number, settledDirectory(entries));
    for (const [name, child] of entries) visit(child, `${path === '/' ? '' : path}/${name}`);
  };
  visit(root, '/');
  for (const node of kept.values()) node.frozen = true;
  return kept;
}

function settledDirectory(entries: ReadonlyMap<string, number>): DirectoryNode {
  const directory = new DirectoryNode();
  for (const [name, node] of entries) directory.entries.set(name, node);
  directory.durable = new Map(entries);
  return directory;
}

function survivingEntries(node: DirectoryNode, path: string, survival: Survival): Map<string, number> {
  const entries = new Map(node.durable);
  const { length } = node.unsynced;
  node.unsynced.forEach((change: NameChange, index) => {
    if (survival.name(path, index, length)) applyNameChange(entries, change);
  });
  return entries;
}

function survivingFile(node: FileNode, path: string, survival: Survival): FileNode {
  const file = new FileNode(node);
  for (const [page, durable] of file.lost) file.pages[page] = durable;
  for (const [page, images] of file.unsynced) {
    const choice = survival.page(path, page, images.length);
    file.pages[page] = typeof choice === 'number' ? images[choice] : tornPage(images, choice);
  }
  file.lost.clear();
  file.unsynced.clear();
  const { durableSize, size } = node;
  file.truncate(size === durableSize ? size : survival.size(path, durableSize, size));
  file.sync();
  return file;
}

function tornPage(images: readonly Page[], choice: readonly number[]): Page {
  const page = new Uint8Array(PAGE_BYTES);
  choice.forEach((image, sector) => {
    const from = images[image];
    const at = sector * SECTOR_BYTES;
    if (from !== undefined) page.set(from.subarray(at, at + SECTOR_BYTES), at);
  });
  return page;
}
