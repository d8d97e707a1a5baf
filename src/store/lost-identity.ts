/**
 * Without `STORE`, a directory holds what a birth left that was cut short, and opening clears it. A store whose `STORE`
 * was lost looks alike, and must not be cleared: what it holds tells the two apart.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import { PAGE_BYTES } from '../base/bytes.ts';
import { readFileAtSync, TEMPORARY_SUFFIX } from '../base/whole-file.ts';
import { openEmbeddedCoordinator } from '../coordinator/embedded-coordinator.ts';
import {
  BLOCK_FIELD,
  BLOCK_HEADER_BYTES,
  CURRENT_NAME,
  parseManifestFileName,
  STORE_ID_BYTES,
} from '../coordinator/manifest/format.ts';
import { EMPTY_LOG_BYTES } from '../coordinator/manifest/manifest.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { FIRST_BLOCK_POSITION } from '../ring/geometry.ts';
import { parseSlotFileName } from '../wal/slot-files.ts';
import { hasIdentity, STORE_FILE } from './identity.ts';
import type { StorePaths } from './paths.ts';

/** A birth that fails closes its manifest: a second block without an event follows the first. Any event takes more. */
const BIRTH_LOG_BYTES_MAX: number = 2 * EMPTY_LOG_BYTES;

/**
 * Throws `ERR_MILLRACE_MANIFEST_CORRUPT` when there is no `STORE` and something in the directory that no birth leaves.
 * Under the lock: another process's birth may be complete a moment later.
 */
export async function refuseLostIdentity(
  { fileSystem, clock }: { readonly fileSystem: FileSystem; readonly clock: Clock },
  paths: StorePaths,
): Promise<void> {
  if (hasIdentity(fileSystem, paths.root)) return;
  const witness =
    objectBelow(fileSystem, paths.objects) ??
    [paths.wal, paths.walOld, paths.walNew].map((folder) => writtenSlot(fileSystem, folder)).find(Boolean) ??
    (await manifestInUse(fileSystem, clock, paths.manifest));
  if (witness === undefined) return;
  const path = join(paths.root, STORE_FILE);
  throw new MillraceError(
    'ERR_MILLRACE_MANIFEST_CORRUPT',
    `${path}: it is missing, and ${witness} says that there was a store: restore it from a backup`,
    { details: { file: path, position: 0, witness } },
  );
}

/** An object; a birth writes none. */
function objectBelow(fileSystem: FileSystem, folder: string): string | undefined {
  if (fileSystem.statSync(folder) === undefined) return undefined;
  for (const name of fileSystem.listSync(folder)) {
    const path = join(folder, name);
    const kind = fileSystem.statSync(path)?.kind;
    if (kind === 'file' && !name.endsWith(TEMPORARY_SUFFIX)) return path;
    const inside = kind === 'directory' ? objectBelow(fileSystem, path) : undefined;
    if (inside !== undefined) return inside;
  }
  return undefined;
}

/** A slot file that was written to: every filling begins at the same place, which is zeros at birth. */
function writtenSlot(fileSystem: FileSystem, folder: string): string | undefined {
  if (fileSystem.statSync(folder) === undefined) return undefined;
  const page = new Uint8Array(PAGE_BYTES);
  for (const name of fileSystem.listSync(folder)) {
    const path = join(folder, name);
    if (parseSlotFileName(name) === undefined || fileSystem.statSync(path)?.kind !== 'file') continue;
    const count = readFileAtSync(fileSystem, path, page, FIRST_BLOCK_POSITION);
    if (page.subarray(0, count).some((byte) => byte !== 0)) return path;
  }
  return undefined;
}

/** A manifest that knows of a stream or an object, or cannot be read: one at birth is whole, and empty. */
async function manifestInUse(fileSystem: FileSystem, clock: Clock, directory: string): Promise<string | undefined> {
  const path = join(directory, CURRENT_NAME);
  if (fileSystem.statSync(path) === undefined) return manifestWithoutCurrent(fileSystem, directory);
  const head = new Uint8Array(BLOCK_HEADER_BYTES);
  readFileAtSync(fileSystem, path, head);
  const storeId = head.slice(BLOCK_FIELD.storeId, BLOCK_FIELD.storeId + STORE_ID_BYTES);
  try {
    const coordinator = await openEmbeddedCoordinator({ fileSystem, directory, storeId, clock, readOnly: true });
    const [streams, objects] = [await coordinator.streams(), await coordinator.listObjects({})];
    await coordinator.close();
    return streams.length > 0 || objects.length > 0 ? path : undefined;
  } catch {
    return path;
  }
}

function manifestWithoutCurrent(fileSystem: FileSystem, directory: string): string | undefined {
  if (fileSystem.statSync(directory) === undefined) return undefined;
  for (const name of fileSystem.listSync(directory)) {
    const path = join(directory, name);
    const parsed = parseManifestFileName(name);
    if (parsed === undefined) continue;
    const size = fileSystem.statSync(path)?.size ?? 0;
    if (parsed.fileNumber > 1 || (parsed.kind === 'log' && size > BIRTH_LOG_BYTES_MAX)) return path;
  }
  return undefined;
}
