/**
 * The power losses of one moment. What all of them leave alike is looked at once, and what one of them decides about a
 * page is made once, so that thousands of losses cost little more than their choices.
 */
import { PAGE_BYTES } from '../../base/bytes.ts';
import { xxh64 } from '../../codec/checksum.ts';
import { digestOf, digestOfFile } from './digest.ts';
import {
  applyNameChange,
  DirectoryNode,
  type DiskNode,
  FileNode,
  type NameChange,
  type Nodes,
  type Page,
  ROOT,
  SECTOR_BYTES,
} from './nodes.ts';
import type { Survival } from './power-loss.ts';

/** What a loss leaves, all of it durable. */
export interface Remains extends Nodes {
  /** Differs where the names and contents that losses of the same moment leave do. The checksum must be loaded. */
  digest(): bigint;
}

interface Unsettled<Node extends DiskNode> {
  readonly number: number;
  readonly path: string;
  readonly node: Node;
}

/** What the losses of one moment have in common. */
export class Losses {
  readonly #nodes: ReadonlyMap<number, DiskNode>;
  readonly #files: Unsettled<FileNode>[] = [];
  readonly #directories: Unsettled<DirectoryNode>[] = [];
  /** By file and page, the images that sectors of several make. */
  readonly #torn = new Map<readonly Page[], Map<string, Page>>();

  constructor(nodes: ReadonlyMap<number, DiskNode>) {
    this.#nodes = nodes;
    this.#visit(ROOT, '/', new Set());
  }

  /** They leave no more than so many different disks. */
  get most(): number {
    if (this.#files.length > 0) return Infinity;
    return 2 ** this.#directories.reduce((sum, { node }) => sum + node.unsynced.length, 0);
  }

  /** What is left when a loss decides so. */
  after(survival: Survival): Remains {
    const changed = new Map<number, DiskNode>();
    for (const { number, path, node } of this.#directories) {
      changed.set(number, settledDirectory(survivingEntries(node, path, survival)));
    }
    for (const { number, path, node } of this.#files) changed.set(number, this.#survivingFile(node, path, survival));
    const get = (number: number): DiskNode | undefined => changed.get(number) ?? this.#nodes.get(number);
    const digest = (): bigint => (this.#directories.length > 0 ? digestOf({ get }, ROOT) : this.#digestOfFiles(get));
    return { get, digest };
  }

  /** All names that some loss may leave lead somewhere here. */
  #visit(number: number, path: string, visited: Set<number>): void {
    const node = this.#nodes.get(number);
    if (node === undefined || visited.has(number)) return;
    visited.add(number);
    node.frozen = true;
    if (node.kind === 'file') {
      if (!node.isSettled) this.#files.push({ number, path, node });
      return;
    }
    if (!node.isSettled) this.#directories.push({ number, path, node });
    const inside = (name: string, child: number): void => {
      this.#visit(child, `${path === '/' ? '' : path}/${name}`, visited);
    };
    for (const [name, child] of node.entries) inside(name, child);
    for (const [name, child] of node.durable) inside(name, child);
    for (const { name, node: child } of node.unsynced) inside(name, child);
  }

  #digestOfFiles(get: Nodes['get']): bigint {
    const parts = new BigUint64Array(this.#files.length);
    this.#files.forEach(({ number }, index) => {
      const file = get(number);
      if (file?.kind === 'file') parts[index] = digestOfFile(file);
    });
    return xxh64(new Uint8Array(parts.buffer));
  }

  #survivingFile(node: FileNode, path: string, survival: Survival): FileNode {
    const pages = node.pages.slice();
    for (const [page, durable] of node.lost) pages[page] = durable;
    for (const [page, images] of node.unsynced) {
      const choice = survival.page(path, page, images.length);
      pages[page] = typeof choice === 'number' ? images[choice] : this.#tornPage(images, choice);
    }
    const file = new FileNode();
    for (const page of pages) file.pages.push(page);
    const { durableSize, size } = node;
    file.size = size;
    file.modifiedAt = node.modifiedAt;
    file.truncate(size === durableSize ? size : survival.size(path, durableSize, size));
    file.sync();
    file.frozen = true;
    return file;
  }

  #tornPage(images: readonly Page[], choice: readonly number[]): Page {
    const [first = 0] = choice;
    if (choice.every((image) => image === first)) return images[first];
    const torn = this.#torn.get(images) ?? new Map<string, Page>();
    this.#torn.set(images, torn);
    const key = choice.join();
    const page = torn.get(key) ?? tornPage(images, choice);
    torn.set(key, page);
    return page;
  }
}

function tornPage(images: readonly Page[], choice: readonly number[]): Uint8Array {
  const page = new Uint8Array(PAGE_BYTES);
  choice.forEach((image, sector) => {
    const from = images[image];
    const at = sector * SECTOR_BYTES;
    if (from !== undefined) page.set(from.subarray(at, at + SECTOR_BYTES), at);
  });
  return page;
}

function settledDirectory(entries: ReadonlyMap<string, number>): DirectoryNode {
  const directory = new DirectoryNode();
  for (const [name, node] of entries) directory.entries.set(name, node);
  directory.durable = entries;
  directory.frozen = true;
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

/** All that names lead to. */
export function reachable(nodes: Nodes): Map<number, DiskNode> {
  const reached = new Map<number, DiskNode>();
  const visit = (number: number): void => {
    const node = nodes.get(number);
    if (node === undefined) return;
    reached.set(number, node);
    if (node.kind === 'directory') for (const child of node.entries.values()) visit(child);
  };
  visit(ROOT);
  return reached;
}
