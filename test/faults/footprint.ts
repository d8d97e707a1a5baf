/**
 * What an opening looks at: names, files, and the log. Nothing else of a disk has a say in what it does, so that disks
 * which answer all of its questions alike are opened alike.
 */
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { xxh64 } from '../../src/codec/checksum.ts';
import { digestOfFile, digestOfName, digestOfPages } from '../../src/testing/disk/digest.ts';
import { type DirectoryNode, type DiskNode, type Nodes, ROOT } from '../../src/testing/disk/nodes.ts';
import type { DiskReads } from '../../src/testing/disk/reads.ts';
import { DIRECTORY } from './worker.ts';

export const LOG: string = `${DIRECTORY}/wal`;
export const MANIFEST: string = `${DIRECTORY}/manifest`;

/**
 * A question about a disk as it was before it was opened. What a part of the store recovers to stands for the files
 * that only its recovery reads: `manifest` for the state, and `log` for what the slot files and the clean mark give
 * when the manifest has come as far as it has.
 */
export type Question = (DiskQuestion | { readonly about: 'manifest' } | { readonly about: 'log' }) & {
  /** Equal for equal questions. */
  readonly key: string;
};

export type DiskQuestion =
  | { readonly about: 'name'; readonly directory: number; readonly name: string }
  | { readonly about: 'names'; readonly directory: number }
  | { readonly about: 'size'; readonly file: number }
  /** Of a range of pages; `to` is the one behind it. */
  | { readonly about: 'content'; readonly file: number; readonly from: number; readonly to: number };

export type Answer = string | number | bigint;

/** Names of a directory in the order in which they are listed; directories of disks that are not written to. */
const lists = new WeakMap<DirectoryNode, string>();

/** Answers what is about names and files. */
export function answer(nodes: Nodes, question: DiskQuestion): Answer {
  if (question.about === 'size' || question.about === 'content') {
    const file = nodes.get(question.file);
    if (file?.kind !== 'file') return 'no file';
    return question.about === 'size' ? file.size : digestOfPages(file, question.from, question.to);
  }
  const directory = nodes.get(question.directory);
  if (directory?.kind !== 'directory') return 'no directory';
  if (question.about === 'names') {
    const list = lists.get(directory) ?? [...directory.entries.keys()].join('/');
    lists.set(directory, list);
    return list;
  }
  const number = directory.entries.get(question.name);
  if (number === undefined) return -1;
  return 2 * number + (nodes.get(number)?.kind === 'directory' ? 1 : 0);
}

/** Files in a directory by name, in order; none where there is no such directory. */
export function filesIn(nodes: Nodes, path: string): ReadonlyMap<string, number> {
  let number: number | undefined = ROOT;
  for (const name of pathNames(path)) {
    const node: DiskNode | undefined = number === undefined ? undefined : nodes.get(number);
    number = node?.kind === 'directory' ? node.entries.get(name) : undefined;
  }
  const directory = number === undefined ? undefined : nodes.get(number);
  return directory?.kind === 'directory' ? sortedEntries(directory) : new Map();
}

/** Of directories that are not written to. */
const sorted = new WeakMap<DirectoryNode, ReadonlyMap<string, number>>();

function sortedEntries(directory: DirectoryNode): ReadonlyMap<string, number> {
  let entries = sorted.get(directory);
  if (entries === undefined) {
    entries = new Map([...directory.entries].sort(([left], [right]) => (left < right ? -1 : 1)));
    sorted.set(directory, entries);
  }
  return entries;
}

const pathsSplit = new Map<string, readonly string[]>();

function pathNames(path: string): readonly string[] {
  const names = pathsSplit.get(path) ?? path.split('/').slice(1);
  pathsSplit.set(path, names);
  return names;
}

/** Notes each question once, in the order in which an opening comes to them. */
export class Footprint implements DiskReads {
  readonly questions: Question[] = [];
  readonly #asked = new Set<string>();
  readonly #nodes: Nodes;
  readonly #log: ReadonlySet<number>;
  readonly #manifest: ReadonlySet<number>;

  constructor(nodes: Nodes) {
    this.#nodes = nodes;
    // Before a store has its identity, its manifest and its log are those of a birth that is taken back.
    const isBorn = filesIn(nodes, DIRECTORY).has('STORE');
    this.#log = new Set(isBorn ? filesIn(nodes, LOG).values() : []);
    this.#manifest = new Set(isBorn ? filesIn(nodes, MANIFEST).values() : []);
  }

  name(directory: number, name: string): void {
    const key = `name ${directory} ${name}`;
    if (this.#isNew(directory, key)) this.questions.push({ key, about: 'name', directory, name });
  }

  names(directory: number): void {
    const key = `names ${directory}`;
    if (this.#isNew(directory, key)) this.questions.push({ key, about: 'names', directory });
  }

  size(file: number): void {
    const key = `size ${file}`;
    if (!this.#isOfPart(file) && this.#isNew(file, key)) this.questions.push({ key, about: 'size', file });
  }

  content(file: number, position: number, length: number): void {
    if (this.#isOfPart(file)) return;
    const from = Math.floor(position / PAGE_BYTES);
    const to = Math.ceil((position + length) / PAGE_BYTES);
    const key = `content ${file} ${from} ${to}`;
    if (this.#isNew(file, key)) this.questions.push({ key, about: 'content', file, from, to });
  }

  /** Asks for what the part of the store recovers to that the file belongs to. */
  #isOfPart(file: number): boolean {
    // What the log gives depends on how far the manifest has come.
    const isOfLog = this.#log.has(file) && this.#asked.has('manifest');
    if (!isOfLog && !this.#manifest.has(file)) return false;
    const about = isOfLog ? 'log' : 'manifest';
    if (this.#isNew(file, about)) this.questions.push({ key: about, about });
    return true;
  }

  /** What the opening itself has made follows from all that it asked before. */
  #isNew(node: number, key: string): boolean {
    if (this.#asked.has(key) || this.#nodes.get(node) === undefined) return false;
    this.#asked.add(key);
    return true;
  }
}

/** Names and contents of the files in a directory. */
export function digestOfFiles(nodes: Nodes, path: string): bigint {
  const files = filesIn(nodes, path);
  const digests = new BigUint64Array(2 * files.size);
  let at = 0;
  for (const [name, number] of files) {
    const file = nodes.get(number);
    if (file?.kind !== 'file') continue;
    digests[at] = digestOfName(name);
    digests[at + 1] = digestOfFile(file);
    at += 2;
  }
  return xxh64(new Uint8Array(digests.buffer));
}
