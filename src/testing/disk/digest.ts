/** What a disk holds, as a number: equal for disks that readers can tell apart by the times of files alone. */
import { PAGE_BYTES } from '../../base/bytes.ts';
import { xxh64 } from '../../codec/checksum.ts';
import type { DiskNode, FileNode, Page } from './nodes.ts';

const ZEROS = new Uint8Array(PAGE_BYTES);

/** Pages and frozen nodes never change, and most are shared by many disks. */
const pages = new WeakMap<Uint8Array, bigint>();
const files = new WeakMap<FileNode, bigint>();

/** Of the names and contents below a directory; the checksum must be loaded. */
export function digestOf(nodes: ReadonlyMap<number, DiskNode>, root: number): bigint {
  const node = nodes.get(root);
  if (node === undefined) return 0n;
  if (node.kind === 'file') return digestOfFile(node);
  let digest = 1n;
  for (const name of [...node.entries.keys()].sort()) {
    digest = xxh64(Buffer.from(name), digest ^ digestOf(nodes, node.entries.get(name) ?? -1));
  }
  return digest;
}

function digestOfFile(file: FileNode): bigint {
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

function digestOfPage(page: Page): bigint {
  const bytes = page ?? ZEROS;
  let digest = pages.get(bytes);
  if (digest === undefined) {
    digest = xxh64(bytes, 3n);
    pages.set(bytes, digest);
  }
  return digest;
}
