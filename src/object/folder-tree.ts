/**
 * Maps keys to paths below the root of a directory store. A slash in a key is a folder. No symbolic link below the root
 * is followed: whoever can plant one could otherwise make millrace read, overwrite or delete files elsewhere.
 */
import { dirname, join, sep } from 'node:path';
import type { FileStat, FileSystem } from '../base/file-system.ts';
import { notPlain } from './object-errors.ts';
import { checkObjectKey } from './object-key.ts';

/** Folders remembered as checked. Forgetting one costs a few system calls, no more. */
const REMEMBERED_FOLDERS_MAX = 1024;

export class FolderTree {
  readonly root: string;
  readonly #fileSystem: FileSystem;
  /** Folders known to be real directories whose entry in their parent is durable. */
  readonly #durable = new Set<string>();

  constructor(fileSystem: FileSystem, root: string) {
    this.#fileSystem = fileSystem;
    this.root = root;
  }

  /** The path of a key, without a look at the folders on the way: only to find what was opened by it. */
  pathOf(key: string): string {
    checkObjectKey(key);
    return join(this.root, key);
  }

  /** The path of a key, after a check that every folder on the way is a directory or absent. */
  locate(key: string): string {
    checkObjectKey(key);
    for (const folder of this.#foldersOf(key)) {
      if (!this.#durable.has(folder) && this.#folderStat(folder) === undefined) break;
    }
    return join(this.root, key);
  }

  /** As `locate`, and makes the folders on the way exist, durably. */
  prepare(key: string): string {
    checkObjectKey(key);
    for (const folder of this.#foldersOf(key)) this.#makeDurable(folder);
    return join(this.root, key);
  }

  /** The root, then each folder of the key, outermost first. */
  #foldersOf(key: string): string[] {
    const folders = [this.root];
    for (let slash = key.indexOf('/'); slash !== -1; slash = key.indexOf('/', slash + 1)) {
      folders.push(join(this.root, key.slice(0, slash)));
    }
    return folders;
  }

  #makeDurable(folder: string): void {
    if (this.#durable.has(folder)) return;
    if (this.#folderStat(folder) === undefined) this.#fileSystem.makeDirectorySync(folder);
    // Also for a folder that was there: whoever made it may have been stopped before the sync.
    this.#fileSystem.syncDirectorySync(dirname(folder));
    if (this.#durable.size >= REMEMBERED_FOLDERS_MAX) this.#durable.clear();
    this.#durable.add(folder);
  }

  /** `undefined` when the folder is absent; throws when something else has its name. */
  #folderStat(folder: string): FileStat | undefined {
    let stat = this.#fileSystem.statSync(folder);
    // The root alone may be a link: the user named it.
    if (stat?.kind === 'other' && folder === this.root) stat = this.#fileSystem.statSync(folder + sep + '.');
    if (stat === undefined || stat.kind === 'directory') return stat;
    throw notPlain(folder, 'directory');
  }
}
