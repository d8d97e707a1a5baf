/**
 * The file `STORE`: which store a directory holds. It is written last when a store is born, so its presence says that
 * the manifest and every WAL file once existed whole.
 *
 * ```
 *   0 magic u32 "MRST"
 *   4 version u16, log u16   0: the folder `wal` holds its log; 1: it was made without one
 *   8 store id 16 B
 *  24 checksum u64   xxh64 of bytes [0, 24)
 * ```
 */
import { join } from 'node:path';
import type { FileSystem } from '../base/file-system.ts';
import { viewOf } from '../base/bytes.ts';
import { readFileAtSync, replaceFileSync } from '../base/whole-file.ts';
import { xxh64 } from '../codec/checksum.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { STORE_ID_BYTES } from '../ring/block-format.ts';

export const STORE_FILE = 'STORE';
export const STORE_MAGIC = 0x5453524d;
export const STORE_VERSION = 1;
const STORE_BYTES = 32;
const CHECKED_BYTES = 24;
const LOG_AT = 6;
const NO_LOG = 1;

/** Whether the store was born: there is a `STORE`, intact or not. */
export function hasIdentity(fileSystem: FileSystem, directory: string): boolean {
  return fileSystem.statSync(join(directory, STORE_FILE)) !== undefined;
}

/** The id in `STORE`; `undefined` when the store was never born. Throws a coded error on damage. */
export function readIdentity(fileSystem: FileSystem, directory: string): Uint8Array | undefined {
  return readStoreFile(fileSystem, directory)?.slice(8, 8 + STORE_ID_BYTES);
}

/** Whether the store, which was born, was made with a WAL. */
export function hasLog(fileSystem: FileSystem, directory: string): boolean {
  const bytes = readStoreFile(fileSystem, directory);
  return bytes !== undefined && viewOf(bytes).getUint16(LOG_AT, true) !== NO_LOG;
}

function readStoreFile(fileSystem: FileSystem, directory: string): Uint8Array | undefined {
  const path = join(directory, STORE_FILE);
  if (!hasIdentity(fileSystem, directory)) return undefined;
  const bytes = new Uint8Array(STORE_BYTES);
  const count = readFileAtSync(fileSystem, path, bytes);
  const view = viewOf(bytes);
  const intact =
    count === STORE_BYTES &&
    view.getUint32(0, true) === STORE_MAGIC &&
    view.getBigUint64(CHECKED_BYTES, true) === xxh64(bytes.subarray(0, CHECKED_BYTES));
  if (!intact) {
    throw new MillraceError('ERR_MILLRACE_MANIFEST_CORRUPT', `${path}: damaged: restore it from a backup`, {
      details: { file: path, position: 0 },
    });
  }
  const version = view.getUint16(4, true);
  if (version > STORE_VERSION) {
    throw new MillraceError(
      'ERR_MILLRACE_FORMAT_TOO_NEW',
      `${path}: format ${version}, this millrace knows up to ${STORE_VERSION}: upgrade it`,
      { details: { file: path, version } },
    );
  }
  return bytes;
}

/** Writes `STORE` whole and durably: the birth of the store is complete. */
export function writeIdentity(
  fileSystem: FileSystem,
  directory: string,
  storeId: Uint8Array,
  { wal }: { readonly wal: boolean },
): void {
  const bytes = new Uint8Array(STORE_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, STORE_MAGIC, true);
  view.setUint16(4, STORE_VERSION, true);
  if (!wal) view.setUint16(LOG_AT, NO_LOG, true);
  bytes.set(storeId, 8);
  view.setBigUint64(CHECKED_BYTES, xxh64(bytes.subarray(0, CHECKED_BYTES)), true);
  replaceFileSync(fileSystem, join(directory, STORE_FILE), bytes);
}
