/**
 * The manifest directory: CURRENT names a snapshot and the log that continues it. A new pair is complete and durable
 * before CURRENT is swapped, and the old pair goes after: whenever power fails, CURRENT names a whole one.
 */
import { dirname, join } from 'node:path';
import type { FileHandle } from '../../base/file-system.ts';
import { isSystemError } from '../../base/node-file-system.ts';
import { TEMPORARY_SUFFIX, replaceFile, writeWhole } from '../../base/whole-file.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import { writeFailure } from '../../errors/write-failure.ts';
import { State } from '../state/state.ts';
import { readCurrentBlock } from './block-reader.ts';
import { BlockWriter, type ChainEnd, type FileIdentity } from './block-writer.ts';
import { readCloseMark } from './close-mark.ts';
import { corrupt, readFailure } from './failures.ts';
import { FileWindow } from './file-window.ts';
import {
  BLOCK_KIND,
  blockBytes,
  CLOSE_MARK_NAME,
  CURRENT_NAME,
  manifestFileName,
  parseManifestFileName,
} from './format.ts';
import { LogReplay } from './log-reader.ts';
import { LogWriter } from './log-writer.ts';
import type { ManifestPlace } from './place.ts';
import { readSnapshot } from './snapshot-reader.ts';
import { writeSnapshot } from './snapshot-writer.ts';

export interface LoadedManifest {
  readonly state: State;
  readonly fileNumber: number;
  readonly snapshotBytes: number;
  /** Open; has read the log to its end. */
  readonly replay: LogReplay;
  readonly logHandle: FileHandle;
}

export interface Generation {
  readonly log: LogWriter;
  readonly snapshotBytes: number;
}

/** A log that holds nothing but its opening block is not larger. */
export const EMPTY_LOG_BYTES: number = blockBytes(8);

/** How often a reader starts over because a writer swapped CURRENT and removed what it named. */
const LOAD_ATTEMPTS = 10;

function identityOf(place: ManifestPlace, kind: FileIdentity['kind'], fileNumber: number): FileIdentity {
  return { kind, storeId: place.storeId, fileNumber };
}

/** What CURRENT names; `undefined` when there is none. */
export async function readCurrent(place: ManifestPlace): Promise<{ fileNumber: number; previous: bigint } | undefined> {
  const path = join(place.directory, CURRENT_NAME);
  let handle: FileHandle;
  try {
    handle = await place.fileSystem.open(path, { access: 'read' });
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw readFailure(place.directory, error);
  }
  try {
    const current = await readCurrentBlock(new FileWindow(handle, handle.sizeSync()), place.storeId);
    if (current === undefined) throw corrupt(path, 0, 'it does not name a snapshot');
    return current;
  } finally {
    await handle.close();
  }
}

/** Reads the snapshot and the log that CURRENT names, the log up to `limit`. */
export async function loadManifest(
  place: ManifestPlace,
  access: 'read' | 'write',
  limit: number = Infinity,
): Promise<LoadedManifest> {
  for (let attempt = 1; ; attempt += 1) {
    const current = await readCurrent(place);
    if (current === undefined) throw missing(place);
    try {
      return await loadGeneration(place, current, access, limit);
    } catch (error) {
      if (!isSystemError(error, 'ENOENT')) throw readFailure(place.directory, error);
      if (attempt < LOAD_ATTEMPTS && (await readCurrent(place))?.fileNumber !== current.fileNumber) continue;
      throw corrupt(
        join(place.directory, CURRENT_NAME),
        0,
        `file ${current.fileNumber} that it names is missing`,
        error,
      );
    }
  }
}

async function loadGeneration(
  place: ManifestPlace,
  current: { readonly fileNumber: number; readonly previous: bigint },
  access: 'read' | 'write',
  limit: number,
): Promise<LoadedManifest> {
  const { fileSystem, directory } = place;
  const { fileNumber, previous } = current;
  const snapshotPath = join(directory, manifestFileName(fileNumber, 'snapshot'));
  const snapshotHandle = await fileSystem.open(snapshotPath, { access: 'read' });
  const window = new FileWindow(snapshotHandle, snapshotHandle.sizeSync());
  const identity = identityOf(place, BLOCK_KIND.snapshot, fileNumber);
  const { state, end } = await readSnapshot(window, identity).finally(() => snapshotHandle.close());
  if (end.previous !== previous) throw corrupt(snapshotPath, 0, 'it is not the snapshot that CURRENT names');
  // Before the log: a store that is closed meanwhile has reached further by then.
  const mark = await readCloseMark(place, fileNumber);
  const logHandle = await fileSystem.open(join(directory, manifestFileName(fileNumber, 'log')), { access });
  try {
    const start = { sequence: 0, previous, position: 0 };
    const replay = new LogReplay(logHandle, identityOf(place, BLOCK_KIND.log, fileNumber), start, state, mark);
    await replay.advance(limit);
    // The opening block was durable before CURRENT named the log.
    if (replay.end.sequence === 0) throw corrupt(logHandle.path, 0, 'the opening block is not sound');
    return { state, fileNumber, snapshotBytes: end.position, replay, logHandle };
  } catch (error) {
    await logHandle.close();
    throw error;
  }
}

/** Loads for writing; makes an empty manifest where there is none. */
export async function openManifest(place: ManifestPlace): Promise<Generation & { state: State; fileNumber: number }> {
  if ((await readCurrent(place)) === undefined) return createManifest(place);
  const { fileSystem, directory } = place;
  const { state, fileNumber, snapshotBytes, replay, logHandle } = await loadManifest(place, 'write');
  try {
    await settleTail(logHandle, replay);
    // A swap may have come as far as CURRENT and no further: make it durable before its predecessor goes.
    fileSystem.syncDirectorySync(directory);
    removeOthers(place, fileNumber);
  } catch (error) {
    await logHandle.close();
    throw writeFailure(logHandle.path, error);
  }
  const log = new LogWriter(logHandle, identityOf(place, BLOCK_KIND.log, fileNumber), replay.end);
  return { state, fileNumber, snapshotBytes, log };
}

async function createManifest(place: ManifestPlace): Promise<Generation & { state: State; fileNumber: number }> {
  const { fileSystem, directory } = place;
  try {
    fileSystem.makeDirectorySync(directory);
    fileSystem.syncDirectorySync(dirname(directory));
    refuseLostCurrent(place);
    removeOthers(place, 0);
    const state = new State();
    return { state, fileNumber: 1, ...(await writeGeneration(place, 1, state)) };
  } catch (error) {
    throw writeFailure(directory, error);
  }
}

/**
 * Cuts a torn tail off, and writes the last block once more: when its sync had failed, it may be in the page cache and
 * not on the disk, where the system takes it for clean.
 */
async function settleTail(handle: FileHandle, replay: LogReplay): Promise<void> {
  const { end, lastBlock } = replay;
  if (replay.tornBytes > 0) handle.truncateSync(end.position);
  const window = new FileWindow(handle, end.position);
  await writeWhole(handle, await window.read(lastBlock, end.position - lastBlock), lastBlock);
  await handle.sync();
}

/**
 * Writes the state as a new snapshot with an empty log behind it, and lets CURRENT name them. The state must not change
 * meanwhile. The files of before are still there.
 */
export async function writeGeneration(place: ManifestPlace, fileNumber: number, state: State): Promise<Generation> {
  const { fileSystem, directory } = place;
  const snapshotPath = join(directory, manifestFileName(fileNumber, 'snapshot'));
  let step = snapshotPath;
  try {
    const identity = identityOf(place, BLOCK_KIND.snapshot, fileNumber);
    const end = await replaceFile(fileSystem, snapshotPath, (handle) => writeSnapshot(handle, identity, state));
    step = join(directory, manifestFileName(fileNumber, 'log'));
    const log = await startLog(place, fileNumber, end, state.now);
    try {
      step = directory;
      fileSystem.syncDirectorySync(directory);
      step = join(directory, CURRENT_NAME);
      await swapCurrent(place, fileNumber, end);
    } catch (error) {
      await log.close();
      throw error;
    }
    return { log, snapshotBytes: end.position };
  } catch (error) {
    throw writeFailure(step, error);
  }
}

async function startLog(place: ManifestPlace, fileNumber: number, after: ChainEnd, now: number): Promise<LogWriter> {
  const path = join(place.directory, manifestFileName(fileNumber, 'log'));
  const handle = await place.fileSystem.open(path, { access: 'create' });
  const start = { sequence: 0, previous: after.previous, position: 0 };
  const log = new LogWriter(handle, identityOf(place, BLOCK_KIND.log, fileNumber), start);
  try {
    log.begin(now);
    await log.append();
    return log;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function swapCurrent(place: ManifestPlace, fileNumber: number, snapshot: ChainEnd): Promise<void> {
  const start = { sequence: 0, previous: snapshot.previous, position: 0 };
  const block = new BlockWriter(identityOf(place, BLOCK_KIND.current, fileNumber), start);
  const path = join(place.directory, CURRENT_NAME);
  await replaceFile(place.fileSystem, path, (handle) => writeWhole(handle, block.seal(), 0));
  place.fileSystem.syncDirectorySync(place.directory);
}

/** Removes every manifest file that is not of `fileNumber`, which is 0 for none; names that are not ours stay. */
export function removeOthers({ fileSystem, directory }: ManifestPlace, fileNumber: number): void {
  for (const name of fileSystem.listSync(directory)) {
    const temporary = name.endsWith(TEMPORARY_SUFFIX);
    const plain = temporary ? name.slice(0, -TEMPORARY_SUFFIX.length) : name;
    const parsed = parseManifestFileName(plain);
    const single = plain === CURRENT_NAME || (plain === CLOSE_MARK_NAME && fileNumber > 0);
    const ours = parsed !== undefined || plain === CURRENT_NAME || plain === CLOSE_MARK_NAME;
    const kept = !temporary && (single || parsed?.fileNumber === fileNumber);
    if (ours && !kept) fileSystem.removeSync(join(directory, name));
  }
}

/** Without CURRENT there can be leftovers of a creation that never finished. More than that is a loss. */
function refuseLostCurrent({ fileSystem, directory }: ManifestPlace): void {
  for (const name of fileSystem.listSync(directory)) {
    const parsed = parseManifestFileName(name);
    if (parsed === undefined) continue;
    const size = fileSystem.statSync(join(directory, name))?.size ?? 0;
    if (parsed.fileNumber === 1 && (parsed.kind === 'snapshot' || size <= EMPTY_LOG_BYTES)) continue;
    throw corrupt(join(directory, CURRENT_NAME), 0, `it is missing, and ${name} says that there was one`);
  }
}

function missing({ directory }: ManifestPlace): MillraceError {
  return new MillraceError('ERR_MILLRACE_STORE_NOT_FOUND', `there is no manifest in ${directory}`, {
    details: { directory },
  });
}
