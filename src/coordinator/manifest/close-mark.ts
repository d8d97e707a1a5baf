/**
 * How far the log certainly reached: written at each clean close. A log that ends earlier was cut, where without the
 * mark it could have been written up to there. A log only grows, so that the mark stays true while the store is open
 * and after a crash; it counts for the log of its number alone.
 *
 * ```
 * blocks u, bytes u         of the log
 * checksum x                of its last block
 * ```
 */
import { join } from 'node:path';
import { isSystemError } from '../../base/node-file-system.ts';
import type { FileHandle } from '../../base/file-system.ts';
import { replaceFile, TEMPORARY_SUFFIX, writeWhole } from '../../base/whole-file.ts';
import { isMillraceError } from '../../errors/millrace-error.ts';
import { writeFailure } from '../../errors/write-failure.ts';
import { readBlock } from './block-reader.ts';
import { BlockWriter, type ChainEnd, type FileIdentity } from './block-writer.ts';
import { ByteReader, PayloadError } from './byte-reader.ts';
import { readFailure } from './failures.ts';
import { FileWindow } from './file-window.ts';
import { BLOCK_KIND, CLOSE_MARK_NAME } from './format.ts';
import type { ManifestPlace } from './place.ts';

const FIRST: ChainEnd = { sequence: 0, previous: 0n, position: 0 };
const CHECKSUM_DIGITS = 16;

/** Of the log of a number. */
export type CloseMark = ChainEnd & { readonly fileNumber: number };

/**
 * Makes the mark durable. All of the log up to there is. On a full disk the mark of before stays: a store can be closed
 * there, and what an older mark says is true as well.
 */
export async function writeCloseMark(place: ManifestPlace, mark: CloseMark): Promise<void> {
  const { fileSystem, directory } = place;
  const path = join(directory, CLOSE_MARK_NAME);
  try {
    const bytes = encodeMark(place, mark);
    await replaceFile(fileSystem, path, (handle) => writeWhole(handle, bytes, 0));
    fileSystem.syncDirectorySync(directory);
  } catch (error) {
    const failure = writeFailure(path, error);
    if (!isMillraceError(failure, 'ERR_MILLRACE_DISK_FULL')) throw failure;
    fileSystem.removeSync(path + TEMPORARY_SUFFIX);
  }
}

function encodeMark({ storeId }: ManifestPlace, { fileNumber, sequence, position, previous }: CloseMark): Uint8Array {
  const block = new BlockWriter({ kind: BLOCK_KIND.close, storeId, fileNumber }, FIRST);
  block.payload.unsigned(sequence);
  block.payload.unsigned(position);
  block.payload.checksum(previous.toString(16).padStart(CHECKSUM_DIGITS, '0'));
  return block.seal();
}

/**
 * The mark for the log of a number. `undefined`: there is none, as of a store that was never closed, it is of another
 * log, or it is damaged, which costs nothing but what it would have told.
 */
export async function readCloseMark(
  { fileSystem, directory, storeId }: ManifestPlace,
  fileNumber: number,
): Promise<CloseMark | undefined> {
  let handle: FileHandle;
  try {
    handle = await fileSystem.open(join(directory, CLOSE_MARK_NAME), { access: 'read' });
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw readFailure(directory, error);
  }
  try {
    const identity: FileIdentity = { kind: BLOCK_KIND.close, storeId, fileNumber };
    const block = await readBlock(new FileWindow(handle, handle.sizeSync()), identity, FIRST);
    return block === undefined ? undefined : { fileNumber, ...contentOf(block.payload) };
  } catch (error) {
    if (error instanceof PayloadError) return undefined;
    throw error;
  } finally {
    await handle.close();
  }
}

/** Throws `PayloadError`. */
export function contentOf(payload: Uint8Array): ChainEnd {
  const reader = new ByteReader(payload);
  const [sequence, position, digits] = [reader.unsigned(), reader.unsigned(), reader.checksum()];
  return { sequence, position, previous: BigInt(`0x${digits}`) };
}
