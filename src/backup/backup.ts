/**
 * Takes a backup: the coordinator's state at one instant, and the objects it names. Objects never change and names are
 * never used twice, so that only those are copied which the target lacks. The head and the state are written last, as
 * one object: a backup is there whole, or not at all, and a later one takes over what a failed one has copied.
 */
import type { Clock } from '../base/clock.ts';
import { bytesEqual } from '../base/bytes.ts';
import type { ImageObject, StateFacts, StateImage } from '../coordinator/manifest/image.ts';
import { factsOf } from '../coordinator/manifest/image.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore, ObjectStoreDescriptor } from '../object/object-store.ts';
import { SegmentReader } from '../segment/reader.ts';
import { listBackups, readHead, readState } from './catalogue.ts';
import { type CopyOptions, copyAll } from './copier.ts';
import type { CopyJob, CopyRunner } from './copy-job.ts';
import { BACKUP_HEAD_BYTES, backupKey, type BackupHead, encodeHead, SEGMENT_PREFIX } from './format.ts';

/** What is backed up. */
export interface BackupSource {
  readonly storeId: Uint8Array;
  readonly objects: ObjectStoreDescriptor;
  readonly clock: Clock;
  /** The shape that a restored store's WAL is to have. */
  wal(): BackupHead['wal'];
  /** The state now, as image `number` that begins at `position`. */
  image(number: number, position: number): Promise<StateImage>;
}

/** Where backups go: an object store, open here and as a descriptor for workers. */
export interface BackupPlace {
  readonly objects: ObjectStore;
  readonly descriptor: ObjectStoreDescriptor;
}

/** How a backup is taken. */
export interface BackupOptions extends CopyOptions {
  /**
   * How many backups the target keeps, this one included; older ones are removed with what only they needed. Default
   * all.
   */
  readonly keep?: number;
}

/** A backup that is complete. */
export interface BackupReport {
  /** Its number in the target. */
  readonly backup: number;
  /** Streams that it holds. */
  readonly streams: number;
  /** User records that it holds. */
  readonly records: number;
  /** Segments that it consists of. */
  readonly objects: number;
  /** Size of those segments. */
  readonly bytes: number;
  /** Of them, those that the target did not have yet. */
  readonly copiedObjects: number;
  /** Size of those copied. */
  readonly copiedBytes: number;
  /** Older backups that were removed. */
  readonly removedBackups: number;
}

/** How often the state is read anew because objects of the one before were deleted during the copy. */
const INSTANTS_MAX = 20;

export async function takeBackup(
  source: BackupSource,
  place: BackupPlace,
  runner: Pick<CopyRunner, 'copy'>,
  options: BackupOptions = {},
): Promise<BackupReport> {
  const numbers = await listBackups(place.objects);
  const number = (numbers.at(-1) ?? 0) + 1;
  const present = await findPresent(source, place.objects, numbers.at(-1));
  const copied = { objects: 0, bytes: 0 };
  const image = await copyInstant(source, place, runner, options, number, present, copied);
  const bytes = sumOf(image.objects);
  const { now, streams, records, objects, encoded } = image;
  const head: BackupHead = {
    storeId: source.storeId,
    number,
    // The coordinator's time is that of the last change: of an idle store it stands still.
    createdAt: Math.max(now, source.clock.now()),
    streams,
    records,
    objects: objects.length,
    objectBytes: bytes,
    imageBytes: encoded.length,
    wal: source.wal(),
  };
  await writeObject(place.objects, backupKey(number), [encodeHead(head), encoded]);
  const removedBackups = await removeOld(place.objects, [...numbers, number], options.keep ?? Infinity, image);
  return {
    backup: number,
    streams,
    records,
    objects: objects.length,
    bytes,
    copiedObjects: copied.objects,
    copiedBytes: copied.bytes,
    removedBackups,
  };
}

/** Copies until the target has every object of one instant; returns that instant. */
async function copyInstant(
  source: BackupSource,
  { objects: target, descriptor }: BackupPlace,
  runner: Pick<CopyRunner, 'copy'>,
  options: BackupOptions,
  number: number,
  present: ReadonlyMap<string, Trust>,
  copied: { objects: number; bytes: number },
): Promise<StateImage> {
  const there = new Map(present);
  for (let instant = 1; ; instant += 1) {
    const image = await source.image(number, BACKUP_HEAD_BYTES);
    const missing: CopyJob[] = [];
    for (const object of image.objects) {
      if (await isThere(target, source.storeId, object, there)) continue;
      const { storeId, objects: from } = source;
      missing.push({ type: 'copy', from, to: descriptor, storeId, ...object });
    }
    try {
      await copyAll(missing, runner, options, ({ key, bytes }) => {
        there.set(key, { bytes, named: true });
        copied.objects += 1;
        copied.bytes += bytes;
      });
      return image;
    } catch (error) {
      // Its grace ended: another process compacts the store, or has trimmed it. A later instant does without it.
      if (!isMillraceError(error, 'ERR_MILLRACE_OBJECT_NOT_FOUND') || instant === INSTANTS_MAX) throw error;
    }
  }
}

interface Trust {
  readonly bytes: number;
  /** A complete backup names it. Otherwise a backup that was cut short left it there. */
  readonly named: boolean;
}

/** What the target holds already. Throws `ERR_MILLRACE_FOREIGN_FILE` when that is of another store. */
async function findPresent(
  { storeId }: BackupSource,
  target: ObjectStore,
  latest: number | undefined,
): Promise<Map<string, Trust>> {
  const named = new Set<string>();
  if (latest !== undefined) {
    const head = await readHead(target, latest);
    if (!bytesEqual(head.storeId, storeId)) throw foreignTarget(head.storeId, storeId);
    for (const { key } of factsOf(await readState(target, head)).objects) named.add(key);
  }
  const present = new Map<string, Trust>();
  for await (const { key, bytes } of target.list(SEGMENT_PREFIX)) present.set(key, { bytes, named: named.has(key) });
  return present;
}

/** Whether the target has the object. What no complete backup vouches for is held against its checksum. */
async function isThere(
  target: ObjectStore,
  storeId: Uint8Array,
  { key, bytes, checksum }: ImageObject,
  present: ReadonlyMap<string, Trust>,
): Promise<boolean> {
  const found = present.get(key);
  if (found === undefined) return false;
  if (found.named && found.bytes === bytes) return true;
  const source = { size: found.bytes, read: (position: number, length: number) => target.read(key, position, length) };
  try {
    await SegmentReader.open(source, { storeId, objectKey: key, checksum: BigInt(`0x${checksum}`) });
    return true;
  } catch (error) {
    if (!isMillraceError(error) || error.kind !== 'corrupt') throw error;
    await target.delete([key]);
    return false;
  }
}

/** Removes backups beyond the latest `keep`, then the objects that no remaining one names. Returns how many went. */
async function removeOld(
  target: ObjectStore,
  numbers: readonly number[],
  keep: number,
  latest: StateFacts,
): Promise<number> {
  const old = numbers.slice(0, Math.max(0, numbers.length - keep));
  if (old.length === 0) return 0;
  // First the backups: one whose objects are gone must not be found.
  await target.delete(old.map(backupKey));
  const named = new Set(latest.objects.map(({ key }) => key));
  for (const number of numbers.slice(old.length, -1)) {
    for (const { key } of factsOf(await readState(target, await readHead(target, number))).objects) named.add(key);
  }
  const unnamed: string[] = [];
  for await (const { key } of target.list(SEGMENT_PREFIX)) if (!named.has(key)) unnamed.push(key);
  await target.delete(unnamed);
  return old.length;
}

async function writeObject(target: ObjectStore, key: string, parts: readonly Uint8Array[]): Promise<void> {
  const writer = await target.create(key);
  try {
    for (const part of parts) await writer.write(part);
    await writer.commit();
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

function sumOf(objects: readonly ImageObject[]): number {
  return objects.reduce((sum, { bytes }) => sum + bytes, 0);
}

function foreignTarget(found: Uint8Array, expected: Uint8Array): MillraceError {
  const theirs = Buffer.from(found).toString('hex');
  const ours = Buffer.from(expected).toString('hex');
  return new MillraceError(
    'ERR_MILLRACE_FOREIGN_FILE',
    `the target holds backups of store ${theirs}, this is ${ours}: give each store a target of its own`,
    { details: { expected: ours, found: theirs } },
  );
}
