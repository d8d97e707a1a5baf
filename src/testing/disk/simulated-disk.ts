/**
 * A disk in memory behind the `FileSystem` interface, which knows of everything whether it would survive a power loss,
 * and fails any call as it is told.
 *
 * It is as strict as the standards allow: a name is durable only after a sync of its directory, data only after a sync
 * of its file or a synchronous write, and a sync that failed has dropped what it should have kept. Sectors of 512 bytes
 * are written whole or not at all. Renames across directories are refused (EXDEV): millrace has none.
 */
import { PAGE_BYTES } from '../../base/bytes.ts';
import type { FileHandle, FileStat, FileSystem, OpenMode } from '../../base/file-system.ts';
import { type DiskCall, type DiskFault, systemError } from './calls.ts';
import { digestOf } from './digest.ts';
import { Losses, reachable, type Remains } from './losses.ts';
import { DirectoryNode, type DiskNode, FileNode, ROOT } from './nodes.ts';
import type { Survival } from './power-loss.ts';
import type { DiskReads } from './reads.ts';
import { SimulatedFileHandle } from './simulated-file-handle.ts';

/** What a simulated disk begins with. */
export interface SimulatedDiskOptions {
  /** Whether direct I/O is offered; without it, opening for it fails as on tmpfs. Default true. */
  readonly direct?: boolean;
  /** Directories that are there, durable, with their parents. */
  readonly directories?: readonly string[];
  /** Milliseconds since the epoch, for the times of files. Default always 0. */
  readonly now?: () => number;
}

/** A moment of a disk, to lose power at. It costs little and shares all pages with the disk. */
export interface DiskSnapshot {
  /** Files and directories by number, with what was and was not synced of each. */
  readonly nodes: ReadonlyMap<number, DiskNode>;
  /** Of the disk. */
  readonly options: SimulatedDiskOptions;
  /** The number of the file or directory that is made next. */
  readonly nextNode: number;
}

/** Fits `HandleHost` too; not said, since its internal members are not in the published types. */
export class SimulatedDisk implements FileSystem {
  /** Called after every change of what a power loss could leave: also after syncs. */
  onStep: ((call: DiskCall) => void) | undefined;
  /** Asked before every call what becomes of it; `undefined` for success. */
  onCall: ((call: DiskCall) => DiskFault | undefined) | undefined;
  /** @internal Told what is looked at. */
  reads: DiskReads | undefined;
  /** Calls so far. */
  calls = 0;
  /** Files that are open: what a store leaves open when it is closed is a leak. */
  openHandles = 0;
  readonly #options: SimulatedDiskOptions;
  #nodes: Map<number, DiskNode>;
  #nextNode: number;
  /** Handles of each file. */
  readonly #open = new Map<number, number>();
  /** Open files that no name leads to, not even after a power loss. */
  readonly #orphans = new Set<number>();
  #dead = false;

  constructor(options: SimulatedDiskOptions = {}, from?: DiskSnapshot) {
    this.#options = options;
    this.#nodes = new Map(from?.nodes ?? [[ROOT, new DirectoryNode()]]);
    this.#nextNode = from?.nextNode ?? ROOT + 1;
    for (const path of options.directories ?? []) if (from === undefined) this.#makeParents(path);
  }

  /** What a power loss at the moment of the snapshot leaves. */
  static afterPowerLoss(snapshot: DiskSnapshot, survival: Survival): SimulatedDisk {
    return SimulatedDisk.of(snapshot, new Losses(snapshot.nodes).after(survival));
  }

  /** @internal The same of a loss that was decided before. */
  static of(snapshot: DiskSnapshot, remains: Remains): SimulatedDisk {
    return new SimulatedDisk(snapshot.options, { ...snapshot, nodes: reachable(remains) });
  }

  /** The disk as it is now, for `afterPowerLoss`; taking it costs a map, not a copy of the bytes. */
  snapshot(): DiskSnapshot {
    for (const node of this.#nodes.values()) node.frozen = true;
    return { nodes: new Map(this.#nodes), options: this.#options, nextNode: this.#nextNode };
  }

  /** A disk that goes on from here by itself, without hooks. */
  copy(): SimulatedDisk {
    return new SimulatedDisk(this.#options, this.snapshot());
  }

  /** Names and contents as a reader sees them, as a number. */
  digest(): bigint {
    return digestOf(this.#nodes, ROOT);
  }

  /** Every later call fails: whatever a process that was killed still has in hand does nothing any more. */
  disconnect(): void {
    this.#dead = true;
    this.onStep = undefined;
  }

  /** Loses power here and comes back, without hooks. Handles of before are void. */
  losePower(survival: Survival): void {
    this.onStep = undefined;
    this.#nodes = reachable(new Losses(this.#nodes).after(survival));
  }

  /** The bytes of a file, to be damaged in place until the file is written to. */
  contentOf(path: string): Uint8Array {
    const node = this.#changing(this.#existing({ operation: 'read', path }));
    const content = new Uint8Array(Math.ceil(node.size / PAGE_BYTES) * PAGE_BYTES);
    node.read(content.subarray(0, node.size), 0);
    for (let page = 0; page * PAGE_BYTES < node.size; page += 1) {
      node.pages[page] = content.subarray(page * PAGE_BYTES, (page + 1) * PAGE_BYTES);
    }
    return content.subarray(0, node.size);
  }

  /** Changes one bit of a file, on the disk too: what a decaying or misdirected sector looks like. */
  flipBit(path: string, byte: number, bit: number): void {
    const content = this.contentOf(path);
    const index = byte % Math.max(1, content.length);
    content[index] = (content[index] ?? 0) ^ (1 << (bit & 7));
  }

  /** Puts a file there, durable, in the place of any other. */
  put(path: string, content: Uint8Array): void {
    const { parent, name } = this.#makeParents(dirnameOf(path), path);
    const file = new FileNode();
    file.write(content, 0);
    file.sync();
    parent.change({ type: 'link', name, node: this.#add(file) });
    parent.sync();
  }

  /** Pages that a power loss may take, in order. */
  unsyncedPages(): {
    /** Of the file. */
    path: string;
    /** Its number in the file, from 0. */
    page: number;
  }[] {
    return this.#walk(ROOT, '').flatMap(({ path, node }) =>
      [...node.unsynced.keys()].sort((left, right) => left - right).map((page) => ({ path, page })),
    );
  }

  openSync(path: string, mode: OpenMode): FileHandle {
    const call: DiskCall = { operation: mode.access === 'create' ? 'create' : 'open', path };
    this.begin(call);
    let number = this.#find(path);
    if (mode.access === 'create') {
      if (number !== undefined) throw systemError('EEXIST', call);
      const file = new FileNode();
      file.modifiedAt = this.#now();
      number = this.#link(call, file);
    }
    if (number === undefined) throw systemError('ENOENT', call);
    if (this.#nodes.get(number)?.kind !== 'file') throw systemError('EISDIR', call);
    // Linux has made the file by the time it refuses the flag.
    if (mode.direct === true && this.#options.direct === false) throw systemError('EINVAL', call);
    this.openHandles += 1;
    this.#open.set(number, (this.#open.get(number) ?? 0) + 1);
    return new SimulatedFileHandle(this, path, number, mode);
  }

  async open(path: string, mode: OpenMode): Promise<FileHandle> {
    return this.openSync(path, mode);
  }

  statSync(path: string): FileStat | undefined {
    this.begin({ operation: 'stat', path });
    const number = this.#find(path);
    const node = number === undefined ? undefined : this.#nodes.get(number);
    if (node === undefined) return undefined;
    if (node.kind === 'directory') return { kind: 'directory', size: 0, modifiedAt: 0 };
    const { reads } = this;
    const { size, modifiedAt } = node;
    return {
      kind: 'file',
      // Whoever asks for the kind alone does not come to know the size.
      get size(): number {
        if (number !== undefined) reads?.size(number);
        return size;
      },
      modifiedAt,
    };
  }

  listSync(path: string): string[] {
    const call: DiskCall = { operation: 'list', path };
    this.begin(call);
    const { node, number } = this.#directory(call, path);
    this.reads?.names(number);
    return [...node.entries.keys()];
  }

  makeDirectorySync(path: string): void {
    const call: DiskCall = { operation: 'makeDirectory', path };
    this.begin(call);
    const number = this.#find(path);
    if (number === undefined) this.#link(call, new DirectoryNode());
    else if (this.#nodes.get(number)?.kind !== 'directory') throw systemError('EEXIST', call);
  }

  renameSync(from: string, to: string): void {
    const call: DiskCall = { operation: 'rename', path: to };
    this.begin(call);
    if (dirnameOf(from) !== dirnameOf(to)) throw systemError('EXDEV', call);
    const node = this.#find(from);
    if (node === undefined) throw systemError('ENOENT', call);
    const parent = this.#parentOf(call);
    parent.change({ type: 'rename', from: basenameOf(from), name: basenameOf(to), node });
    this.end(call);
  }

  removeSync(path: string): void {
    const call: DiskCall = { operation: 'remove', path };
    this.begin(call);
    const node = this.#find(path);
    if (node === undefined) return;
    if (this.#nodes.get(node)?.kind === 'directory') throw systemError('EISDIR', call);
    this.#parentOf(call).change({ type: 'unlink', name: basenameOf(path), node });
    this.end(call);
  }

  async remove(path: string): Promise<void> {
    this.removeSync(path);
  }

  removeDirectorySync(path: string): void {
    const call: DiskCall = { operation: 'removeDirectory', path };
    this.begin(call);
    const number = this.#find(path);
    if (number === undefined) return;
    const { node } = this.#directory(call, path);
    this.reads?.names(number);
    if (node.entries.size > 0) throw systemError('ENOTEMPTY', call);
    this.#parentOf(call).change({ type: 'unlink', name: basenameOf(path), node: number });
    this.end(call);
  }

  syncDirectorySync(path: string): void {
    const call: DiskCall = { operation: 'syncDirectory', path };
    const fault = this.begin(call);
    if (fault !== undefined) return;
    const { node, number } = this.#directory(call, path);
    if (node.isSettled) return;
    const directory = this.#changing({ node, number });
    const changes = directory.unsynced;
    directory.sync();
    const named = new Set(directory.entries.values());
    for (const { node: changed } of changes) if (!named.has(changed)) this.#forget(changed);
    this.end(call);
  }

  /** @internal Counts the call; throws the error that it is told to end in, and returns any other fault. */
  begin(call: DiskCall): DiskFault | undefined {
    this.calls += 1;
    if (this.#dead) throw systemError('EIO', call);
    const fault = this.onCall?.(call);
    if (fault !== undefined && 'error' in fault) throw systemError(fault.error, call);
    return fault;
  }

  /** @internal */
  end(call: DiskCall): void {
    this.onStep?.(call);
  }

  /** @internal The file of a handle, to be read. */
  fileOf(call: DiskCall, number: number): FileNode {
    const node = this.#nodes.get(number);
    if (node?.kind !== 'file') throw systemError('EBADF', call);
    return node;
  }

  /** @internal The file of a handle, to be changed. */
  changingFile(call: DiskCall, number: number): FileNode {
    const file = this.#changing({ node: this.fileOf(call, number), number });
    file.modifiedAt = this.#now();
    return file;
  }

  /** @internal */
  closed(number: number): void {
    this.openHandles -= 1;
    const count = (this.#open.get(number) ?? 0) - 1;
    if (count > 0) {
      this.#open.set(number, count);
      return;
    }
    this.#open.delete(number);
    if (this.#orphans.delete(number)) this.#nodes.delete(number);
  }

  /** No name leads to the node any more, not even after a power loss. */
  #forget(number: number): void {
    if (this.#open.has(number)) this.#orphans.add(number);
    else this.#nodes.delete(number);
  }

  #now(): number {
    return this.#options.now?.() ?? 0;
  }

  #add(node: DiskNode): number {
    const number = this.#nextNode;
    this.#nextNode += 1;
    this.#nodes.set(number, node);
    return number;
  }

  #link(call: DiskCall, node: DiskNode): number {
    const parent = this.#parentOf(call);
    const number = this.#add(node);
    parent.change({ type: 'link', name: basenameOf(call.path), node: number });
    this.end(call);
    return number;
  }

  /** The node itself, or, when a snapshot has it, a copy in its place. */
  #changing<T extends DiskNode>({ node, number }: { readonly node: T; readonly number: number }): T {
    if (!node.frozen) return node;
    const copy = (node.kind === 'file' ? new FileNode(node) : new DirectoryNode(node)) as T;
    this.#nodes.set(number, copy);
    return copy;
  }

  #find(path: string): number | undefined {
    let number = ROOT;
    for (const name of namesOf(path)) {
      const node = this.#nodes.get(number);
      this.reads?.name(number, name);
      const next = node?.kind === 'directory' ? node.entries.get(name) : undefined;
      if (next === undefined) return undefined;
      number = next;
    }
    return number;
  }

  #existing(call: DiskCall): { readonly node: FileNode; readonly number: number } {
    const number = this.#find(call.path);
    if (number === undefined) throw systemError('ENOENT', call);
    return { node: this.fileOf(call, number), number };
  }

  #directory(call: DiskCall, path: string): { readonly node: DirectoryNode; readonly number: number } {
    const number = this.#find(path);
    const node = number === undefined ? undefined : this.#nodes.get(number);
    if (number === undefined || node === undefined) throw systemError('ENOENT', call);
    if (node.kind !== 'directory') throw systemError('ENOTDIR', call);
    return { node, number };
  }

  /** The directory that the call changes. */
  #parentOf(call: DiskCall): DirectoryNode {
    return this.#changing(this.#directory(call, dirnameOf(call.path)));
  }

  #makeParents(path: string, file = `${path}/`): { parent: DirectoryNode; name: string } {
    let parent = this.#changing(this.#directory({ operation: 'list', path: '/' }, '/'));
    let at = '';
    for (const name of namesOf(path)) {
      at = `${at}/${name}`;
      if (!parent.entries.has(name)) {
        parent.change({ type: 'link', name, node: this.#add(new DirectoryNode()) });
        parent.sync();
      }
      parent = this.#changing(this.#directory({ operation: 'list', path: at }, at));
    }
    return { parent, name: basenameOf(file) };
  }

  #walk(number: number, path: string): { path: string; node: FileNode }[] {
    const node = this.#nodes.get(number);
    if (node === undefined) return [];
    if (node.kind === 'file') return [{ path, node }];
    return [...node.entries].flatMap(([name, child]) => this.#walk(child, `${path}/${name}`));
  }
}

/** The parts of a path; a dot is the directory itself. */
function namesOf(path: string): string[] {
  return path.split(/[/\\]/).filter((name) => name !== '' && name !== '.');
}

function dirnameOf(path: string): string {
  return `/${namesOf(path).slice(0, -1).join('/')}`;
}

function basenameOf(path: string): string {
  return namesOf(path).at(-1) ?? '';
}
