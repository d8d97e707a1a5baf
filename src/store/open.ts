/** The composition root: picks implementations and opens them in the order that recovery needs. */
import { resolve } from 'node:path';
import { assert } from '../base/assert.ts';
import { Announcer } from '../base/channels.ts';
import { loadChecksum } from '../codec/checksum.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { STORE_ID_BYTES } from '../ring/block-format.ts';
import {
  checkManifest,
  findStore,
  makeFolders,
  openFailure,
  prepareDirectory,
  refuseRestoring,
  removeMade,
  settleNames,
  undoBirth,
} from './birth.ts';
import { closingOnFailure } from './closing.ts';
import { type StoreEnvironment, systemEnvironment } from './environment.ts';
import { Followers } from '../stream/followers.ts';
import { LocalWriter } from './local-writer.ts';
import { hasIdentity, hasLog, readIdentity, writeIdentity } from './identity.ts';
import { recordBytesMax } from './geometry.ts';
import { removeUnfinished } from './janitor.ts';
import type { StoreLock } from './lock.ts';
import { refuseLostIdentity } from './lost-identity.ts';
import { refuseMisplaced } from './misplaced-objects.ts';
import { makeCompactionAgent } from './compaction-agent.ts';
import { openAlone, openShared, refuseWithoutWal } from './open-diskless.ts';
import { backupSourceOf } from './backup.ts';
import { openManifest } from './open-manifest.ts';
import { NO_LANES, type RecoveredLanes, recoverLanes, withLanes } from './producers/lane-recovery.ts';
import { codecsOf, type OpenedBase, type OpenedLog, openLog } from './open-log.ts';
import { openObjects } from './open-objects.ts';
import { type OpenOptions, type Settings, settingsOf } from './options.ts';
import type { StoreUsage } from './parts.ts';
import { type StorePaths, storePaths } from './paths.ts';
import { type RecoveredStream, recoveredStreams } from './recovered-streams.ts';
import { Store } from './store.ts';
import { settleWalFolder } from './wal-folder.ts';

/**
 * Opens the store in a directory, or makes one there.
 * `ERR_MILLRACE_LOCKED`: another process writes to it. `ERR_MILLRACE_WAL_CORRUPT`, `ERR_MILLRACE_MANIFEST_CORRUPT`:
 * acknowledged data is damaged. `ERR_MILLRACE_DIRECTORY_UNUSABLE`, `ERR_MILLRACE_DISK_FULL`: the directory cannot hold
 * a store. `ERR_MILLRACE_FORMAT_TOO_NEW`: a newer millrace wrote it.
 */
export function open(options: string | OpenOptions): Promise<Store> {
  return openIn(systemEnvironment, options);
}

/** As `open`, on the system that the environment is: a simulated one, for tests. */
export async function openIn(environment: StoreEnvironment, options: string | OpenOptions): Promise<Store> {
  const store = await openStore(environment, options);
  return store.ready();
}

async function openStore(environment: StoreEnvironment, options: string | OpenOptions): Promise<Store> {
  const settings = settingsOf(options);
  await loadChecksum();
  const { fileSystem } = environment;
  const { dir, coordinator } = settings;
  if (coordinator !== undefined) return openShared(environment, settings, coordinator);
  assert(dir !== undefined, 'a store whose coordinator is this process has a directory');
  if (settings.readOnly) return openReadOnly(environment, settings, storePaths(resolve(dir)));
  const prepared = prepareDirectory(fileSystem, dir);
  const { paths } = prepared;
  let lock: StoreLock | undefined;
  let mayClear = false;
  try {
    findStore(fileSystem, paths);
    lock = await environment.lock(paths.root);
    await refuseLostIdentity(environment, paths);
    mayClear = true;
    const openIt = settings.diskless === undefined ? openWritable : openAlone;
    return await openIt(environment, settings, paths, lock);
  } catch (error) {
    // Without the lock, whatever lies in the directory may be another process's birth by now.
    if (mayClear && !hasIdentity(fileSystem, paths.root)) undoBirth(fileSystem, paths);
    await lock?.release();
    removeMade(fileSystem, prepared.made);
    throw openFailure(paths.root, error);
  }
}

async function openReadOnly(environment: StoreEnvironment, settings: Settings, paths: StorePaths): Promise<Store> {
  try {
    return await openFollower(environment, settings, paths);
  } catch (error) {
    throw openFailure(paths.root, error);
  }
}

async function openFollower(environment: StoreEnvironment, settings: Settings, paths: StorePaths): Promise<Store> {
  const { fileSystem, clock, timers } = environment;
  const storeId = readIdentity(fileSystem, paths.root);
  if (storeId === undefined) {
    refuseRestoring(fileSystem, paths.root);
    throw new MillraceError(
      'ERR_MILLRACE_STORE_NOT_FOUND',
      `${paths.root} holds no store: open it for writing to make one`,
      { details: { directory: paths.root } },
    );
  }
  checkManifest(fileSystem, paths);
  return closingOnFailure(async (opened) => {
    const { coordinator, timings } = await openManifest(environment, settings, paths, storeId);
    opened.push(() => coordinator.close());
    const { objects, cache, descriptor } = await openObjects(environment, settings, paths);
    const log = hasLog(fileSystem, paths.root) ? { fileSystem, directory: paths.wal } : undefined;
    return new Store({
      settings,
      storeId,
      announcer: new Announcer(storeId),
      coordinator,
      objects,
      usage: { timings, cache, pool: {} },
      backupSource: backupSourceOf(coordinator, descriptor, clock, log),
      clock,
      timers,
      followers: new Followers(),
      writer: undefined,
      shared: false,
      lock: undefined,
      closePool: async () => undefined,
      compaction: undefined,
      recovery: undefined,
      recovered: new Map(),
      compression: new Map(),
    });
  });
}

async function openWritable(
  environment: StoreEnvironment,
  settings: Settings,
  paths: StorePaths,
  lock: StoreLock,
): Promise<Store> {
  const { fileSystem, random } = environment;
  const known = findStore(fileSystem, paths);
  const storeId = known ?? random.bytes(STORE_ID_BYTES);
  if (known === undefined) {
    makeFolders(fileSystem, paths);
  } else {
    checkManifest(fileSystem, paths);
    refuseWithoutWal(fileSystem, paths);
    settleNames(fileSystem, paths);
    settleWalFolder(fileSystem, paths);
  }
  return closingOnFailure(async (opened) => {
    const { coordinator, timings } = await openManifest(environment, settings, paths, storeId);
    opened.push(() => coordinator.close());
    const { objects, cache, descriptor } = await openObjects(environment, settings, paths);
    opened.push(() => objects.close());
    await refuseMisplaced(fileSystem, paths, settings, coordinator, objects);
    const pool = environment.makePool({ rewriteThreads: settings.compaction.maxConcurrentJobs });
    opened.push(() => pool.close());
    const announcer = new Announcer(storeId);
    const base = { environment, settings, paths, storeId, announcer, coordinator, pool, objects: descriptor };
    // First: what they flush has to be known when the store's own lane is held against its streams.
    const lanes = known === undefined ? NO_LANES : await recoverLanes(base);
    const log = await openLog(base, known !== undefined);
    const { records, blocks, damages } = log.report;
    announcer.tell('recovery', () => ({ records, blocks, damages: damages.length }));
    // Only now: a store whose log is damaged stays as it is.
    await removeUnfinished(coordinator, objects);
    if (known === undefined) writeIdentity(fileSystem, paths.root, storeId, { wal: true });
    return assemble(base, log, lanes, objects, { timings, cache, pool: pool.requests }, lock);
  });
}

async function assemble(
  base: OpenedBase,
  log: OpenedLog,
  lanes: RecoveredLanes,
  objects: ObjectStore,
  usage: StoreUsage,
  lock: StoreLock,
): Promise<Store> {
  const { environment, settings, paths, storeId, announcer, coordinator, pool } = base;
  const { geometry, ring, recovered, watermarks } = log;
  const followers = new Followers();
  const compression = await codecsOf(coordinator);
  const streams = recoveredStreams(ring, recovered.frames);
  const writer = new LocalWriter({
    settings,
    storeId,
    announcer,
    environment,
    walDirectory: paths.wal,
    ring,
    geometry,
    maxRecordBytes: recordBytesMax(settings, geometry),
    recovered,
    // Files of another shape than the store's have made way for its own.
    idleLanes: log.replaced ? [] : lanes.idle,
    nextOffsets: nextOffsetTable(watermarks, streams),
    coordinator,
    runner: pool,
    objects: base.objects,
    compression: () => compression,
    followers,
  });
  return new Store({
    settings,
    storeId,
    announcer,
    coordinator,
    objects,
    usage,
    clock: environment.clock,
    timers: environment.timers,
    backupSource: backupSourceOf(coordinator, base.objects, environment.clock, {
      fileSystem: environment.fileSystem,
      directory: paths.wal,
    }),
    followers,
    writer,
    shared: false,
    lock,
    closePool: () => pool.close(),
    compaction: makeCompactionAgent(base),
    recovery: withLanes(log.report, lanes.reports),
    recovered: streams,
    compression,
  });
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
