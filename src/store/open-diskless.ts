/**
 * Opens stores without a WAL: alone, over a manifest in a locked directory, or shared, over a coordinator's service.
 */
import { resolve } from 'node:path';
import type { BackupSource } from '../backup/backup.ts';
import { Announcer } from '../base/channels.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { CoordinatorComponent } from '../coordinator/component.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { type CallTimer, timedCoordinator } from '../coordinator/timed-coordinator.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { STORE_ID_BYTES } from '../ring/block-format.ts';
import { backupSourceOf } from './backup.ts';
import { checkManifest, findStore, makeFolders, prepareDirectory, settleNames } from './birth.ts';
import { type Closer, closingOnFailure } from './closing.ts';
import { makeCompactionAgent } from './compaction-agent.ts';
import { Followers } from '../stream/followers.ts';
import { DisklessWriter } from './diskless-writer.ts';
import type { StoreEnvironment } from './environment.ts';
import { hasLog, writeIdentity } from './identity.ts';
import { removeUnfinished } from './janitor.ts';
import type { StoreLock } from './lock.ts';
import { refuseMisplaced } from './misplaced-objects.ts';
import { codecsOf } from './open-log.ts';
import { openManifest } from './open-manifest.ts';
import { type OpenedObjects, openObjects } from './open-objects.ts';
import type { Settings } from './options.ts';
import type { StorePaths } from './paths.ts';
import { Store } from './store.ts';

interface OpenedParts {
  readonly environment: StoreEnvironment;
  readonly settings: Settings;
  readonly storeId: Uint8Array;
  readonly coordinator: Coordinator;
  readonly timings: CallTimer;
  readonly objects: OpenedObjects;
  readonly lock: StoreLock | undefined;
  readonly backupSource: BackupSource | undefined;
}

/**
 * Opens the store of a coordinator that any number of processes share. `dir` matters only where it holds the objects.
 */
export async function openShared(
  environment: StoreEnvironment,
  settings: Settings,
  component: CoordinatorComponent,
): Promise<Store> {
  const { clock, fileSystem } = environment;
  const connected = await component.open({ deleteGrace: settings.compaction.deleteGrace });
  const { coordinator, timings } = timedCoordinator(connected, clock);
  return closingOnFailure(async (opened) => {
    opened.push(() => coordinator.close());
    const { dir } = settings;
    const paths = dir === undefined ? undefined : prepareDirectory(fileSystem, resolve(dir)).paths;
    if (paths !== undefined && settings.objects === undefined) fileSystem.makeDirectorySync(paths.objects);
    const objects = await openObjects(environment, settings, paths);
    opened.push(() => objects.objects.close());
    const { storeId } = coordinator;
    const common = { environment, settings, storeId, coordinator, timings, objects };
    return assemble({ ...common, lock: undefined, backupSource: undefined }, opened);
  });
}

/** Opens, or makes, a store of this process alone in a directory whose lock it holds. */
export async function openAlone(
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
    fileSystem.removeDirectorySync(paths.wal);
  } else {
    checkManifest(fileSystem, paths);
    refuseWal(fileSystem, paths);
    settleNames(fileSystem, paths);
  }
  return closingOnFailure(async (opened) => {
    const { coordinator, timings } = await openManifest(environment, settings, paths, storeId);
    opened.push(() => coordinator.close());
    const objects = await openObjects(environment, settings, paths);
    opened.push(() => objects.objects.close());
    await refuseMisplaced(fileSystem, paths, settings, coordinator, objects.objects);
    await removeUnfinished(coordinator, objects.objects);
    if (known === undefined) writeIdentity(fileSystem, paths.root, storeId, { wal: false });
    const backupSource = backupSourceOf(coordinator, objects.descriptor, environment.clock, undefined);
    const parts = { environment, settings, storeId, coordinator, timings, objects, lock, backupSource };
    return assemble(parts, opened);
  });
}

/** What its WAL holds and no segment does would be forgotten. */
function refuseWal(fileSystem: FileSystem, paths: StorePaths): void {
  if (!hasLog(fileSystem, paths.root)) return;
  throw new MillraceError(
    'ERR_MILLRACE_UNSUPPORTED',
    `${paths.root} was made with a WAL: open it without \`wal: false\``,
    {
      details: { directory: paths.root },
    },
  );
}

/** The other way round: a store without a WAL cannot take one up. */
export function refuseWithoutWal(fileSystem: FileSystem, paths: StorePaths): void {
  if (hasLog(fileSystem, paths.root)) return;
  throw new MillraceError(
    'ERR_MILLRACE_UNSUPPORTED',
    `${paths.root} was made without a WAL: open it with \`wal: false\``,
    {
      details: { directory: paths.root },
    },
  );
}

async function assemble(parts: OpenedParts, opened: Closer[]): Promise<Store> {
  const { environment, settings, storeId, coordinator, timings, lock, backupSource } = parts;
  const { clock, timers } = environment;
  const { objects, cache, descriptor } = parts.objects;
  const followers = new Followers();
  const announcer = new Announcer(storeId);
  const shared = settings.coordinator !== undefined;
  const served = { storeId, announcer, coordinator, objects, clock, timers, followers };
  const common = { ...served, settings, shared, lock, backupSource };
  const nothingRecovered = { recovery: undefined, recovered: new Map() };
  if (settings.readOnly) {
    const closePool = (): Promise<void> => Promise.resolve();
    const usage = { timings, cache, pool: {} };
    const none = { usage, writer: undefined, compaction: undefined, closePool, compression: new Map() };
    return new Store({ ...common, ...nothingRecovered, ...none });
  }
  const compression = await codecsOf(coordinator);
  const pool = environment.makePool({
    rewriteThreads: settings.compaction.maxConcurrentJobs,
    flushesAtOnce: settings.objects === undefined ? 1 : UPLOADS_PER_THREAD,
  });
  opened.push(() => pool.close());
  const writer = new DisklessWriter({
    environment,
    settings,
    storeId,
    announcer,
    coordinator,
    runner: pool,
    objects: descriptor,
    compression: () => compression,
    followers,
  });
  const agentParts = { environment, settings, storeId, announcer, coordinator, pool };
  const compaction = makeCompactionAgent({ ...agentParts, objects: descriptor });
  const usage = { timings, cache, pool: pool.requests };
  const working = { usage, writer, compaction, closePool: () => pool.close(), compression };
  return new Store({ ...common, ...nothingRecovered, ...working });
}

/** A remote store answers late: while one upload of a thread waits, others go on. */
const UPLOADS_PER_THREAD = 4;
