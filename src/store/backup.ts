/** Backups of a store: taken, listed, and checked. */
import { isDeepStrictEqual } from 'node:util';
import { takeBackup, type BackupOptions, type BackupReport, type BackupSource } from '../backup/backup.ts';
import { chooseBackup, listBackups, readHead, readState } from '../backup/catalogue.ts';
import type { BackupHead } from '../backup/format.ts';
import type { Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import { loadChecksum } from '../codec/checksum.ts';
import type { EmbeddedCoordinator } from '../coordinator/embedded-coordinator.ts';
import { factsOf } from '../coordinator/manifest/image.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { SLOT_BYTES_DEFAULT, SLOTS_DEFAULT } from '../limits/limits.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import type { RingGeometry } from '../ring/geometry.ts';
import { existingGeometry } from '../wal/slot-files.ts';
import { type BackupTarget, descriptorOf, withTarget } from './backup-target.ts';
import { LANE } from './open-log.ts';
import { checkProgress, invalid, optional } from '../errors/argument-checks.ts';
import { CopyPool } from './pool.ts';
import { verifyObjects, type VerifyReport } from './verify.ts';

/** A backup that is complete. */
export interface BackupDescription {
  /** Its number in the target: they count from 1, and later ones are larger. */
  readonly backup: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Of which store: 32 hexadecimal digits. */
  readonly storeId: string;
  /** Streams that it holds. */
  readonly streams: number;
  /** User records that it holds. */
  readonly records: number;
  /** Segments that it consists of. Backups of one target share what they have in common. */
  readonly objects: number;
  /** Size of those segments. */
  readonly bytes: number;
  /** Whether the store has a WAL. */
  readonly wal: boolean;
}

/** What backups are taken of, in a store whose metadata lie in its directory. `log`: absent without a WAL. */
export function backupSourceOf(
  coordinator: EmbeddedCoordinator,
  objects: ObjectStoreDescriptor,
  clock: Clock,
  log: LogPlace | undefined,
): BackupSource {
  return {
    storeId: coordinator.storeId,
    objects,
    clock,
    wal: () => log && shapeOf(log),
    image: async (number, position) => {
      await coordinator.refresh();
      return coordinator.image(number, position);
    },
  };
}

interface LogPlace {
  readonly fileSystem: FileSystem;
  readonly directory: string;
}

/** A log that is lost does not keep segments from being backed up. */
function shapeOf({ fileSystem, directory }: LogPlace): RingGeometry {
  const isThere = fileSystem.statSync(directory)?.kind === 'directory';
  const existing = isThere ? existingGeometry(fileSystem, directory, LANE) : undefined;
  return existing ?? { slots: SLOTS_DEFAULT, slotBytes: SLOT_BYTES_DEFAULT };
}

const OPTION_NAMES = new Set(['keep', 'signal', 'progress']);
const VERIFY_OPTION_NAMES = new Set(['backup', 'signal', 'progress']);

/** `source`: absent where a service keeps the metadata. */
export async function backUp(
  source: BackupSource | undefined,
  target: BackupTarget,
  options: BackupOptions,
): Promise<BackupReport> {
  checkOptionNames(options, OPTION_NAMES, 'backup');
  optional('keep', options.keep, 1, Number.MAX_SAFE_INTEGER);
  checkProgress(options);
  if (source === undefined) throw unsupported();
  refuseSamePlace(source.objects, descriptorOf(target));
  return withTarget(target, 'write', async (place) => {
    const pool = new CopyPool();
    try {
      return await takeBackup(source, place, pool, options);
    } finally {
      await pool.close();
    }
  });
}

/** The complete backups in a target, oldest first. */
export async function backups(target: BackupTarget): Promise<BackupDescription[]> {
  await loadChecksum();
  return withTarget(target, 'read', async ({ objects }) => {
    const found: BackupDescription[] = [];
    for (const number of await listBackups(objects)) found.push(describe(await readHead(objects, number)));
    return found;
  });
}

/**
 * Checks a backup, by default the latest: its state, and every byte of every segment. Damage is in the report;
 * `ERR_MILLRACE_BACKUP_NOT_FOUND`.
 */
export async function verifyBackup(
  target: BackupTarget,
  options: {
    readonly backup?: number;
    readonly signal?: AbortSignal;
    readonly progress?: (doneBytes: number, totalBytes: number) => void;
  } = {},
): Promise<VerifyReport> {
  checkOptionNames(options, VERIFY_OPTION_NAMES, 'verifyBackup');
  const backup = optional('backup', options.backup, 1, Number.MAX_SAFE_INTEGER);
  checkProgress(options);
  await loadChecksum();
  return withTarget(target, 'read', async ({ objects }) => {
    const head = await chooseBackup(objects, backup);
    const state = await readState(objects, head);
    return verifyObjects(objects, head.storeId, factsOf(state).objects, options);
  });
}

export function describe({ number, createdAt, storeId, streams, records, objects, objectBytes, wal }: BackupHead): {
  readonly [Key in keyof BackupDescription]: BackupDescription[Key];
} {
  return {
    backup: number,
    createdAt,
    storeId: Buffer.from(storeId).toString('hex'),
    streams,
    records,
    objects,
    bytes: objectBytes,
    wal: wal !== undefined,
  };
}

/** Backups that are removed take segments with them. */
function refuseSamePlace(source: ObjectStoreDescriptor, target: ObjectStoreDescriptor): void {
  if (!isDeepStrictEqual(placeOf(source), placeOf(target))) return;
  throw invalid('the target is where the store has its own objects: give backups another directory, bucket or prefix');
}

/** How one gets there makes no other place of it. */
function placeOf({ module, options }: ObjectStoreDescriptor): unknown {
  const { root, endpoint, bucket, prefix } = options;
  return bucket === undefined && root === undefined
    ? { module, options }
    : { module, root, endpoint, bucket, prefix: prefix ?? '' };
}

function unsupported(): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_UNSUPPORTED',
    'the metadata of this store is in a service: back up the database, then the objects; see docs/backup.md',
  );
}
