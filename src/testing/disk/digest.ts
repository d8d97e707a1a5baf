/** What a disk holds, as a number: equal for disks that readers can tell apart by the times of files alone. */
import { PAGE_BYTES } from '../../base/bytes.ts';
import { xxh64 } from '../../codec/checksum.ts';
import type { FileNode, Nodes, Page } from './nodes.ts';

const ZEROS = new Uint8Array(PAGE_BYTES);

/** Pages and frozen nodes never change, and most are shared by many disks. */
const pages = new WeakMap<Uint8Array, bigint>();
const files = new WeakMap<FileNode, bigint>();
/** Stores give their files few names again and again, and objects names that are not used twice. */
let names = new Map<string, bigint>();
const NAMES_MAX = 10_000;

/** Of the names and contents below a directory; the checksum must be loaded. */
export function digestOf(nodes: Nodes, root: number): bigint {
  const node = nodes.get(root);
  if (node === undefined) return 0n;
  if (node.kind === 'file') return digestOfFile(node);
  const parts = new BigUint64Array(2 * node.entries.size + 1);
  parts[0] = 1n;
  let at = 1;
  for (const name of [...node.entries.keys()].sort()) {
    parts[at] = digestOfName(name);
    parts[at + 1] = digestOf(nodes, node.entries.get(name) ?? -1);
    at += 2;
  }
  return xxh64(new Uint8Array(parts.buffer));
}

/** Of a name; the checksum must be loaded. */
export function digestOfName(name: string): bigint {
  let digest = names.get(name);
  if (digest === undefined) {
    digest = xxh64(Buffer.from(name), 4n);
    if (names.size >= NAMES_MAX) names = new Map();
    names.set(name, digest);
  }
  return digest;
}

/** Of the content and the length of a file; the checksum must be loaded. */
export function digestOfFile(file: FileNode): bigint {
  const known = files.get(file);
  if (known !== undefined) return known;
  const parts = new BigUint64Array(file.pages.length + 1);
  parts[0] = BigInt(file.size);
  // Pages that were never written are holes in the list.
  for (let index = 0; index < file.pages.length; index += 1) parts[index + 1] = digestOfPage(file.pages[index]);
  const digest = xxh64(new Uint8Array(parts.buffer), 2n);
  if (file.frozen) files.set(file, digest);
  return digest;
}

/** Of what there is to read in pages [`from`, `to`). */
export function digestOfPages(file: FileNode, from: number, to: number): bigint {
  const count = Math.ceil(file.size / PAGE_BYTES);
  if (from === 0 && to >= count) return digestOfFile(file);
  const parts = [BigInt(file.size)];
  for (let page = from; page < Math.min(to, count); page += 1) parts.push(digestOfPage(file.pages[page]));
  return xxh64(new Uint8Array(BigUint64Array.from(parts).buffer), 5n);
}

function digestOfPage(page: Page): bigint {
  const bytes = page ?? ZEROS;
  let digest = pages.get(bytes);
  if (digest === undefined) {
    digest = xxh64(bytes, 3n);
    pages.set(bytes, digest);
  }
  return digest;
}
