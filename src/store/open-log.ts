/** Opens the WAL: recovers it into a ring, and changes its geometry where another one is asked for. */
import type { Announcer } from '../base/channels.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { EmbeddedCoordinator } from '../coordinator/embedded-coordinator.ts';
import { FlushScheduler } from '../flush/scheduler.ts';
import type { ObjectStoreDescriptor } from '../object/object-store.ts';
import type { RingGeometry } from '../ring/geometry.ts';
import type { LaneStart } from '../ring/producer.ts';
import type { Compression } from '../record/stream-config.ts';
import { takeCleanMark } from '../wal/clean-mark.ts';
import { recoverLane, type RecoveredLane, type RecoveryReport, type StreamPosition } from '../wal/recovery.ts';
import { createSlotFiles, existingGeometry, rebuildSlotFiles } from '../wal/slot-files.ts';
import { chooseGeometry, recordBytesMax, sameGeometry } from './geometry.ts';
import type { JobPool, StoreEnvironment } from './environment.ts';
import type { Settings } from './options.ts';
import type { StorePaths } from './paths.ts';
import { replaceWalFolder } from './wal-folder.ts';

export const LANE = 0;
const NOTHING_FLUSHED: LaneStart = { slotSequence: -1, blockSequence: -1 };

/** What opening for writing has put together so far. */
export interface OpenedBase {
  readonly environment: StoreEnvironment;
  readonly settings: Settings;
  readonly paths: StorePaths;
  readonly storeId: Uint8Array;
  readonly announcer: Announcer;
  readonly coordinator: EmbeddedCoordinator;
  readonly pool: JobPool;
  readonly objects: ObjectStoreDescriptor;
}

/** The log of a store, recovered into its ring. */
export interface OpenedLog {
  readonly geometry: RingGeometry;
  readonly ring: SharedArrayBuffer;
  readonly recovered: RecoveredLane;
  /** What recovery found, in the files of the geometry that the store was last used with. */
  readonly report: RecoveryReport;
  /** The files were made anew: those of all lanes, all of which are in segments. */
  readonly replaced: boolean;
  /** High watermark of every stream. */
  readonly watermarks: ReadonlyMap<number, number>;
}

/**
 * Recovers the log. Where another geometry is asked for than the files have, everything recovered is flushed first, and
 * the files are made anew: `report` still tells of the old ones.
 */
export async function openLog(base: OpenedBase, born: boolean): Promise<OpenedLog> {
  const { settings, paths, storeId } = base;
  const { fileSystem } = base.environment;
  const existing = born ? existingGeometry(fileSystem, paths.wal, LANE) : undefined;
  const geometry = chooseGeometry(settings, existing);
  recordBytesMax(settings, geometry);
  if (existing === undefined && (!born || settings.salvage)) {
    await createSlotFiles({ fileSystem, directory: paths.wal, storeId, lane: LANE }, geometry);
  }
  const log = await recoverLog(base, LANE, existing ?? geometry);
  if (existing === undefined || sameGeometry(existing, geometry)) return log;
  await flushRecovered(base, LANE, log);
  await replaceWalFolder(fileSystem, paths, storeId, LANE, geometry);
  return { ...(await recoverLog(base, LANE, geometry)), report: log.report, replaced: true };
}

export async function recoverLog(base: OpenedBase, lane: number, geometry: RingGeometry): Promise<OpenedLog> {
  const { environment, settings, paths, storeId, coordinator } = base;
  const { fileSystem } = environment;
  const place = { fileSystem, directory: paths.wal, storeId, lane };
  const ring = environment.allocateRing(geometry);
  const stored = await positionsOf(coordinator);
  const flushed = (await coordinator.flushedSlots()).find((slot) => slot.lane === lane) ?? NOTHING_FLUSHED;
  const clean = takeCleanMark(place, flushed)?.start;
  const recovered = await recoverLane({
    ...place,
    geometry,
    ring,
    flushed,
    stored: (streamId) => stored.get(streamId),
    clean,
    salvage: settings.salvage,
  });
  await rebuildSlotFiles(fileSystem, paths.wal, lane, geometry, ring, recovered.unusableFiles);
  const watermarks = new Map([...stored].map(([streamId, { nextOffset }]) => [streamId, nextOffset]));
  return { geometry, ring, recovered, report: recovered.report, replaced: false, watermarks };
}

/** Moves everything that was recovered into segments, before the store takes its first append. */
export async function flushRecovered(
  base: OpenedBase,
  lane: number,
  { geometry, ring, recovered }: OpenedLog,
): Promise<void> {
  const { environment, coordinator, pool, objects, storeId, announcer } = base;
  const compression = await codecsOf(coordinator);
  const scheduler = new FlushScheduler({
    coordinator,
    runner: pool,
    objects,
    storeId,
    clock: environment.clock,
    compression: () => compression,
    relative: false,
    committed: () => undefined,
    failed: () => undefined,
    sleep: (milliseconds) => environment.timers.sleep(milliseconds),
    announcer,
  });
  for (const slot of recovered.fillings) scheduler.add({ lane, ring, geometry }, slot, Promise.resolve());
  // Who waits is the caller of `open`, and is told.
  scheduler.hurry();
  await scheduler.drain();
}

/** High watermark and epoch of every stream. */
async function positionsOf(coordinator: Coordinator): Promise<Map<number, StreamPosition>> {
  const positions = new Map<number, StreamPosition>();
  for (const { streamId } of await coordinator.streams()) {
    positions.set(streamId, await coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 }));
  }
  return positions;
}

/** Streams whose codec is not the default. */
export async function codecsOf(coordinator: Coordinator): Promise<Map<number, Compression>> {
  const codecs = new Map<number, Compression>();
  for (const { streamId, config } of await coordinator.streams()) {
    if (config.compression !== 'lz4') codecs.set(streamId, config.compression);
  }
  return codecs;
}
