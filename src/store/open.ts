/** The composition root: picks implementations and opens them in the order that recovery needs. */
import { availableParallelism } from 'node:os';
import { systemClock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import { NodeFileSystem } from '../base/node-file-system.ts';
import { systemRandom } from '../base/random.ts';
import { Signal } from '../base/signal.ts';
import { loadChecksum } from '../codec/checksum.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { openEmbeddedCoordinator } from '../coordinator/embedded-coordinator.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { STORE_ID_BYTES } from '../ring/block-format.ts';
import { allocateRing, type RingGeometry } from '../ring/geometry.ts';
import type { LaneStart } from '../ring/producer.ts';
import type { Compression } from '../record/stream-config.ts';
import { recoverLane, type RecoveredLane } from '../wal/recovery.ts';
import { createSlotFiles, existingGeometry, rebuildSlotFiles } from '../wal/slot-files.ts';
import { findStore, makeFolders, openFailure, prepareDirectory } from './birth.ts';
import { readIdentity, writeIdentity } from './identity.ts';
import { removeUnfinished } from './janitor.ts';
import { lockStore, type StoreLock } from './lock.ts';
import { openObjects } from './open-objects.ts';
import { type OpenOptions, type Settings, settingsOf } from './options.ts';
import type { StorePaths } from './paths.ts';
import { storePaths } from './paths.ts';
import { WorkerPool } from './pool.ts';
import { type RecoveredStream, recoveredStreams } from './recovered-streams.ts';
import { Store } from './store.ts';
import { WriterSide } from './writer-side.ts';

const LANE = 0;
const NOTHING_FLUSHED: LaneStart = { slotSequence: -1, blockSequence: -1 };

/**
 * Opens the store in a directory, or makes one there.
 * `ERR_MILLRACE_LOCKED`: another process writes to it. `ERR_MILLRACE_WAL_CORRUPT`, `ERR_MILLRACE_MANIFEST_CORRUPT`:
 * acknowledged data is damaged. `ERR_MILLRACE_DIRECTORY_UNUSABLE`, `ERR_MILLRACE_DISK_FULL`: the directory cannot hold
 * a store. `ERR_MILLRACE_FORMAT_TOO_NEW`: a newer millrace wrote it.
 */
export async function open(options: string | OpenOptions): Promise<Store> {
  const settings = settingsOf(options);
  await loadChecksum();
  const fileSystem = new NodeFileSystem();
  if (settings.readOnly) return openReadOnly(fileSystem, settings);
  const paths = prepareDirectory(fileSystem, settings.dir);
  let lock: StoreLock | undefined;
  try {
    findStore(fileSystem, paths);
    lock = await lockStore(paths.root);
    return await openWritable(fileSystem, settings, paths, lock);
  } catch (error) {
    await lock?.release();
    throw openFailure(paths.root, error);
  }
}

async function openReadOnly(fileSystem: FileSystem, settings: Settings): Promise<Store> {
  const paths = storePaths(settings.dir);
  const storeId = readIdentity(fileSystem, paths.root);
  if (storeId === undefined) {
    throw new MillraceError(
      'ERR_MILLRACE_STORE_NOT_FOUND',
      `${paths.root} holds no store: open it for writing to make one`,
      {
        details: { directory: paths.root },
      },
    );
  }
  const coordinator = await openManifest(fileSystem, paths, storeId, true);
  return new Store({
    settings,
    storeId,
    coordinator,
    objects: (await openObjects(fileSystem, settings, paths)).objects,
    clock: systemClock,
    progress: new Signal(),
    writer: undefined,
    lock: undefined,
    closePool: async () => undefined,
    recovery: undefined,
    recovered: new Map(),
    compression: new Map(),
  });
}

async function openWritable(
  fileSystem: FileSystem,
  settings: Settings,
  paths: StorePaths,
  lock: StoreLock,
): Promise<Store> {
  const known = findStore(fileSystem, paths);
  const storeId = known ?? systemRandom.bytes(STORE_ID_BYTES);
  if (known === undefined) makeFolders(fileSystem, paths);
  const coordinator = await openManifest(fileSystem, paths, storeId, false);
  const { objects, descriptor } = await openObjects(fileSystem, settings, paths);
  await removeUnfinished(coordinator, objects);
  const geometry = await walGeometry(fileSystem, settings, paths, storeId, known !== undefined);
  const ring = allocateRing(geometry);
  const watermarks = await nextOffsetsOf(coordinator);
  const recovered = await recover(fileSystem, settings, paths, storeId, geometry, ring, coordinator, watermarks);
  if (known === undefined) writeIdentity(fileSystem, paths.root, storeId);
  const pool = new WorkerPool(Math.max(2, availableParallelism() - 1));
  const progress = new Signal();
  const compression = new Map<number, Compression>();
  for (const { streamId, config } of await coordinator.streams()) {
    if (config.compression !== 'lz4') compression.set(streamId, config.compression);
  }
  const streams = recoveredStreams(ring, recovered.frames);
  const writer = new WriterSide({
    settings,
    storeId,
    walDirectory: paths.wal,
    ring,
    geometry,
    recovered,
    nextOffsets: nextOffsetTable(watermarks, streams),
    coordinator,
    runner: pool,
    objects: descriptor,
    clock: systemClock,
    compression: () => compression,
    progress,
  });
  return new Store({
    settings,
    storeId,
    coordinator,
    objects,
    clock: systemClock,
    progress,
    writer,
    lock,
    closePool: () => pool.close(),
    recovery: recovered.report,
    recovered: streams,
    compression,
  });
}

function openManifest(
  fileSystem: FileSystem,
  paths: StorePaths,
  storeId: Uint8Array,
  readOnly: boolean,
): Promise<Coordinator> {
  return openEmbeddedCoordinator({
    fileSystem,
    directory: paths.manifest,
    storeId,
    clock: systemClock,
    random: systemRandom,
    readOnly,
  });
}

/** The geometry that the slot files have; a new store's is made from the settings. */
async function walGeometry(
  fileSystem: FileSystem,
  settings: Settings,
  paths: StorePaths,
  storeId: Uint8Array,
  born: boolean,
): Promise<RingGeometry> {
  const existing = born ? existingGeometry(fileSystem, paths.wal, LANE) : undefined;
  if (existing !== undefined) return existing;
  const geometry = { slots: settings.wal.slots, slotBytes: settings.wal.slotBytes };
  if (!born || settings.salvage) await createSlotFiles(fileSystem, paths.wal, storeId, LANE, geometry);
  return geometry;
}

async function recover(
  fileSystem: FileSystem,
  settings: Settings,
  paths: StorePaths,
  storeId: Uint8Array,
  geometry: RingGeometry,
  ring: SharedArrayBuffer,
  coordinator: Coordinator,
  watermarks: ReadonlyMap<number, number>,
): Promise<RecoveredLane> {
  const flushed = (await coordinator.flushedSlots()).find(({ lane }) => lane === LANE) ?? NOTHING_FLUSHED;
  const recovered = await recoverLane({
    fileSystem,
    directory: paths.wal,
    storeId,
    lane: LANE,
    geometry,
    ring,
    flushed,
    nextOffset: (streamId) => watermarks.get(streamId),
    salvage: settings.salvage,
  });
  await rebuildSlotFiles(fileSystem, paths.wal, LANE, geometry, ring, recovered.unusableFiles);
  return recovered;
}

/** High watermark of every stream. */
async function nextOffsetsOf(coordinator: Coordinator): Promise<Map<number, number>> {
  const offsets = new Map<number, number>();
  for (const { streamId } of await coordinator.streams()) {
    const { nextOffset } = await coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    offsets.set(streamId, nextOffset);
  }
  return offsets;
}

/** Next offset by stream id, frames of the WAL included. */
function nextOffsetTable(
  watermarks: ReadonlyMap<number, number>,
  recovered: ReadonlyMap<number, RecoveredStream>,
): Float64Array {
  let highest = 0;
  for (const streamId of watermarks.keys()) highest = Math.max(highest, streamId);
  const next = new Float64Array(highest + 1);
  for (const [streamId, offset] of watermarks) next[streamId] = offset;
  for (const [streamId, { nextOffset }] of recovered) next[streamId] = nextOffset;
  return next;
}
