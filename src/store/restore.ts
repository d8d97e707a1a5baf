/**
 * Makes a store of a backup. The directory says from the first file on that a restore is under way, and `STORE` is
 * written last: a restore that was cut short is no store, and is not taken for an empty directory either.
 */
import { join, resolve } from 'node:path';
import { chooseBackup, readState } from '../backup/catalogue.ts';
import { type CopyOptions, copyAll } from '../backup/copier.ts';
import type { BackupPlace } from '../backup/backup.ts';
import { checksumText, type CopyJob } from '../backup/copy-job.ts';
import { type BackupHead, SEGMENT_PREFIX } from '../backup/format.ts';
import type { FileSystem } from '../base/file-system.ts';
import { NodeFileSystem } from '../base/node-file-system.ts';
import { systemRandom } from '../base/random.ts';
import { readFileAtSync, writeWholeSync } from '../base/whole-file.ts';
import { loadChecksum } from '../codec/checksum.ts';
import { factsOf, writeManifestOf } from '../coordinator/manifest/image.ts';
import type { State } from '../coordinator/state/state.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { describeDirectory } from '../object/directory-component.ts';
import type { ObjectStore, ObjectStoreComponent } from '../object/object-store.ts';
import { STORE_ID_BYTES } from '../ring/block-format.ts';
import { SegmentReader } from '../segment/reader.ts';
import { createSlotFiles } from '../wal/slot-files.ts';
import { type BackupDescription, describe } from './backup.ts';
import { type BackupTarget, withTarget } from './backup-target.ts';
import { makeFolders, openFailure, prepareDirectory } from './birth.ts';
import { STORE_FILE, writeIdentity } from './identity.ts';
import { LOCK_FILE, LOCK_GUARD, LOCK_SOCKET, lockStore } from './lock.ts';
import { checkComponent, checkProgress, flag, invalid, optional } from '../errors/argument-checks.ts';
import { LANE } from './open-log.ts';
import { RESTORE_MARK, STORE_NAMES, type StorePaths } from './paths.ts';
import { CopyPool } from './pool.ts';

/** What is restored, and where to. */
export interface RestoreOptions extends CopyOptions {
  /** Directory of the new store: missing, empty, or left by a restore that was cut short. */
  readonly dir: string;
  /** Where its segments go; an object store that holds none. Default: its directory. */
  readonly objects?: ObjectStoreComponent | string;
  /** Which backup. Default the latest. */
  readonly backup?: number;
  /**
   * Keep the id of the store that was backed up, for a store that is moved: backups go on in the same target. Only when
   * the original is never opened again. Default false: a store of its own.
   */
  readonly sameStore?: boolean;
}

/** What was restored. */
export interface RestoreReport extends BackupDescription {
  /** Of the new store: 32 hexadecimal digits. `storeId` is that of the store that was backed up. */
  readonly newStoreId: string;
}

const LOCK_NAMES: ReadonlySet<string> = new Set([LOCK_FILE, LOCK_SOCKET, LOCK_GUARD]);
/** What an attempt that was cut short leaves. */
const RESTORE_NAMES: ReadonlySet<string> = new Set([...STORE_NAMES, RESTORE_MARK]);
const OPTION_NAMES = new Set(['dir', 'objects', 'backup', 'sameStore', 'signal', 'progress']);

/**
 * Restores a backup into an empty directory. Every byte is checked on the way.
 * `ERR_MILLRACE_BACKUP_NOT_FOUND`; `ERR_MILLRACE_DIRECTORY_UNUSABLE` when the directory holds anything.
 */
export async function restore(target: BackupTarget, options: string | RestoreOptions): Promise<RestoreReport> {
  const given = typeof options === 'string' ? { dir: options } : options;
  const { backup, sameStore, dir } = checked(given);
  await loadChecksum();
  const fileSystem = new NodeFileSystem();
  return withTarget(target, 'read', async (place) => {
    const head = await chooseBackup(place.objects, backup);
    const state = await readState(place.objects, head);
    const newStoreId = sameStore ? head.storeId : systemRandom.bytes(STORE_ID_BYTES);
    const storeId = await restoreInto(fileSystem, dir, newStoreId, sameStore, (into) =>
      fill({ ...into, fileSystem, place, head, state, options: given }),
    );
    return { ...describe(head), newStoreId: Buffer.from(storeId).toString('hex') };
  });
}

function checked(options: RestoreOptions): { backup: number | undefined; sameStore: boolean; dir: string } {
  checkOptionNames(options, OPTION_NAMES, 'restore');
  const { dir } = options;
  if (typeof dir !== 'string' || dir === '' || dir.includes('\0'))
    throw invalid('option dir is the path of a directory');
  const { objects } = options;
  if (objects !== undefined && typeof objects !== 'string') {
    checkComponent('option objects is what `s3(...)` of `millrace/s3` gives, or a directory', objects);
  }
  checkProgress(options);
  const backup = optional('backup', options.backup, 1, Number.MAX_SAFE_INTEGER);
  return { backup, sameStore: flag('sameStore', options.sameStore), dir };
}

/** The directory that a store is restored into. */
interface Place {
  readonly paths: StorePaths;
  /** Of the new store. */
  readonly storeId: Uint8Array;
  /** An earlier attempt may have put objects of this very id into the object store. */
  readonly resumed: boolean;
}

/**
 * Holds the directory's lock and its mark around `work`. The mark carries the id of the store to be, so that a second
 * attempt knows which objects the first one has made. Returns that id.
 */
async function restoreInto(
  fileSystem: FileSystem,
  dir: string,
  newStoreId: Uint8Array,
  sameStore: boolean,
  work: (place: Place) => Promise<void>,
): Promise<Uint8Array> {
  const { paths } = prepareDirectory(fileSystem, dir);
  try {
    const lock = await lockStore(paths.root);
    try {
      const begun = findMark(fileSystem, paths);
      const resumed = begun !== undefined && !sameStore;
      const storeId = resumed ? begun : newStoreId;
      if (!resumed) writeMark(fileSystem, paths, storeId);
      await work({ paths, storeId, resumed });
      fileSystem.removeSync(markPath(paths));
      fileSystem.syncDirectorySync(paths.root);
      return storeId;
    } finally {
      await lock.release();
    }
  } catch (error) {
    throw openFailure(paths.root, error);
  }
}

interface Filling extends Place {
  readonly fileSystem: FileSystem;
  readonly place: BackupPlace;
  readonly head: BackupHead;
  readonly state: State;
  readonly options: RestoreOptions;
}

async function fill(filling: Filling): Promise<void> {
  const { fileSystem, paths, head, state, storeId } = filling;
  makeFolders(fileSystem, paths);
  const checksums = await copyObjects(filling);
  await writeManifestOf(state, { fileSystem, directory: paths.manifest, storeId }, checksums);
  if (head.wal === undefined) fileSystem.removeDirectorySync(paths.wal);
  else await createSlotFiles({ fileSystem, directory: paths.wal, storeId, lane: LANE }, head.wal);
  writeIdentity(fileSystem, paths.root, storeId, { wal: head.wal !== undefined });
}

/** Returns the checksums of the new objects by key. */
async function copyObjects(filling: Filling): Promise<ReadonlyMap<string, string>> {
  const { place, paths, head, state, storeId: newStoreId, options } = filling;
  const given = options.objects ?? paths.objects;
  const component = typeof given === 'string' ? describeDirectory(resolve(given)) : given;
  const into = await component.open();
  const pool = new CopyPool();
  try {
    const present = await presentObjects(into, filling);
    const { storeId } = head;
    const [from, to] = [place.descriptor, component.descriptor];
    const jobs = factsOf(state)
      .objects.filter(({ key }) => !present.has(key))
      .map((object): CopyJob => ({ type: 'copy', from, to, storeId, newStoreId, ...object }));
    return new Map([...present, ...(await copyAll(jobs, pool, options))]);
  } finally {
    await pool.close();
    await into.close();
  }
}

/**
 * What an earlier attempt has copied. Objects that bear the id of the store to be are its own; others in a place that
 * was chosen for them are somebody's, and nothing is touched.
 */
async function presentObjects(into: ObjectStore, { storeId, resumed, options }: Filling): Promise<Map<string, string>> {
  const present = new Map<string, string>();
  const stale: string[] = [];
  for await (const { key, bytes: size } of into.list(SEGMENT_PREFIX)) {
    const source = { size, read: (position: number, length: number) => into.read(key, position, length) };
    try {
      if (!resumed) throw occupied(key);
      const { footer } = await SegmentReader.open(source, { storeId, objectKey: key });
      present.set(key, checksumText(footer.checksum));
    } catch {
      if (options.objects !== undefined) throw occupied(key);
      stale.push(key);
    }
  }
  await into.delete(stale);
  return present;
}

function markPath({ root }: StorePaths): string {
  return join(root, RESTORE_MARK);
}

/**
 * The id in the mark of an earlier attempt; `undefined` in an empty directory. Throws for one that holds a store, or
 * anything else that a restore does not make.
 */
function findMark(fileSystem: FileSystem, paths: StorePaths): Uint8Array | undefined {
  const names = fileSystem.listSync(paths.root);
  const begun = names.includes(RESTORE_MARK) && !names.includes(STORE_FILE);
  const stranger = names.find((name) => !LOCK_NAMES.has(name) && !(begun && RESTORE_NAMES.has(name)));
  if (stranger !== undefined) {
    throw new MillraceError(
      'ERR_MILLRACE_DIRECTORY_UNUSABLE',
      `${paths.root} is not empty (${stranger}): restore into a directory that is`,
      { details: { directory: paths.root } },
    );
  }
  if (!begun) return undefined;
  const storeId = new Uint8Array(STORE_ID_BYTES);
  return readFileAtSync(fileSystem, markPath(paths), storeId) === STORE_ID_BYTES ? storeId : undefined;
}

function writeMark(fileSystem: FileSystem, paths: StorePaths, storeId: Uint8Array): void {
  const path = markPath(paths);
  fileSystem.removeSync(path);
  const file = fileSystem.openSync(path, { access: 'create' });
  try {
    writeWholeSync(file, storeId, 0);
    file.syncSync();
  } finally {
    file.closeSync();
  }
  fileSystem.syncDirectorySync(paths.root);
}

function occupied(key: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_OBJECT_EXISTS',
    `the object store holds ${key} already: restore into one, or under a prefix, that holds no segments`,
    { details: { objectKey: key } },
  );
}
