/**
 * The head of a backup: what it is a backup of, for whoever lists backups without reading them. The image of the
 * coordinator's state follows. See `docs/formats/backup.md`.
 *
 * ```
 *   0 checksum u64      xxh64 of bytes [8, 128)
 *   8 magic u32         "MRBK"
 *  12 version u16
 *  14 reserved u16 0
 *  16 store id 16 B
 *  32 number u64        of the backup, from 1
 *  40 created at i64    by the clock of the store
 *  48 streams u64
 *  56 records u64
 *  64 objects u64
 *  72 object bytes u64
 *  80 image bytes u64
 *  88 slots u32         WAL files of the store; 0: it has no WAL
 *  92 slot bytes u32
 *  96 reserved 32 B 0
 * 128 image
 * ```
 */
import { bytesEqual, readInt64, readUint64, viewOf, writeInt64, writeUint64 } from '../base/bytes.ts';
import { xxh64 } from '../codec/checksum.ts';
import { MillraceError } from '../errors/millrace-error.ts';

const BACKUP_MAGIC = 0x4b42524d;
const BACKUP_VERSION = 1;
export const BACKUP_HEAD_BYTES = 128;
const CHECKED_FROM = 8;
const RESERVED_FROM = 96;
const STORE_ID_BYTES = 16;

const HEAD_FIELD = {
  checksum: 0,
  magic: 8,
  version: 12,
  storeId: 16,
  number: 32,
  createdAt: 40,
  streams: 48,
  records: 56,
  objects: 64,
  objectBytes: 72,
  imageBytes: 80,
  slots: 88,
  slotBytes: 92,
} as const;

/** Backups and the objects they share lie in the same place. */
export const BACKUP_PREFIX = 'backups/';
export const SEGMENT_PREFIX = 'segments/';
const NUMBER_DIGITS = 16;
const PATTERN = /^backups\/([0-9]{16})\.backup$/;

/** `backups/0000000000000001.backup` */
export function backupKey(number: number): string {
  return `${BACKUP_PREFIX}${String(number).padStart(NUMBER_DIGITS, '0')}.backup`;
}

/** The number in a key; `undefined` for anything that is not one. */
export function parseBackupKey(key: string): number | undefined {
  const match = PATTERN.exec(key);
  const number = Number(match?.[1]);
  return Number.isSafeInteger(number) && number > 0 ? number : undefined;
}

export interface BackupHead {
  readonly storeId: Uint8Array;
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly streams: number;
  readonly records: number;
  readonly objects: number;
  readonly objectBytes: number;
  readonly imageBytes: number;
  /** Shape of the WAL; `undefined` without one. */
  readonly wal: { readonly slots: number; readonly slotBytes: number } | undefined;
}

export function encodeHead(head: BackupHead): Uint8Array {
  const bytes = new Uint8Array(BACKUP_HEAD_BYTES);
  const view = viewOf(bytes);
  view.setUint32(HEAD_FIELD.magic, BACKUP_MAGIC, true);
  view.setUint16(HEAD_FIELD.version, BACKUP_VERSION, true);
  bytes.set(head.storeId, HEAD_FIELD.storeId);
  writeInt64(view, HEAD_FIELD.createdAt, head.createdAt);
  for (const field of ['number', 'streams', 'records', 'objects', 'objectBytes', 'imageBytes'] as const) {
    writeUint64(view, HEAD_FIELD[field], head[field]);
  }
  view.setUint32(HEAD_FIELD.slots, head.wal?.slots ?? 0, true);
  view.setUint32(HEAD_FIELD.slotBytes, head.wal?.slotBytes ?? 0, true);
  view.setBigUint64(HEAD_FIELD.checksum, xxh64(bytes.subarray(CHECKED_FROM)), true);
  return bytes;
}

/** `size`: of the whole object. Throws `ERR_MILLRACE_MANIFEST_CORRUPT`, `ERR_MILLRACE_FORMAT_TOO_NEW`. */
export function decodeHead(bytes: Uint8Array, key: string, size: number): BackupHead {
  const view = viewOf(bytes);
  const sound =
    bytes.length === BACKUP_HEAD_BYTES &&
    view.getUint32(HEAD_FIELD.magic, true) === BACKUP_MAGIC &&
    view.getBigUint64(HEAD_FIELD.checksum, true) === xxh64(bytes.subarray(CHECKED_FROM));
  if (!sound) throw backupCorrupt(key, 0, 'its head is not sound');
  const version = view.getUint16(HEAD_FIELD.version, true);
  if (version !== BACKUP_VERSION) throw tooNew(key, version);
  const reserved = bytes.subarray(RESERVED_FROM);
  if (!bytesEqual(reserved, new Uint8Array(reserved.length))) throw backupCorrupt(key, RESERVED_FROM, 'not zeros');
  const number = (field: keyof typeof HEAD_FIELD): number => readUint64(view, HEAD_FIELD[field]);
  const slots = view.getUint32(HEAD_FIELD.slots, true);
  const head = {
    storeId: bytes.slice(HEAD_FIELD.storeId, HEAD_FIELD.storeId + STORE_ID_BYTES),
    number: number('number'),
    createdAt: readInt64(view, HEAD_FIELD.createdAt),
    streams: number('streams'),
    records: number('records'),
    objects: number('objects'),
    objectBytes: number('objectBytes'),
    imageBytes: number('imageBytes'),
    wal: slots === 0 ? undefined : { slots, slotBytes: view.getUint32(HEAD_FIELD.slotBytes, true) },
  };
  if (parseBackupKey(key) !== head.number) throw backupCorrupt(key, HEAD_FIELD.number, `it is backup ${head.number}`);
  if (BACKUP_HEAD_BYTES + head.imageBytes !== size) {
    throw backupCorrupt(key, BACKUP_HEAD_BYTES, `${size} bytes where ${BACKUP_HEAD_BYTES + head.imageBytes} belong`);
  }
  return head;
}

function backupCorrupt(key: string, position: number, what: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_MANIFEST_CORRUPT',
    `${key} is damaged at ${position}: ${what}: restore another one by its number, and delete this file to list and to ` +
      'take backups',
    { details: { key, position } },
  );
}

function tooNew(key: string, version: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_FORMAT_TOO_NEW',
    `${key}: format ${version}, this millrace knows up to ${BACKUP_VERSION}: upgrade it`,
    { details: { key, version } },
  );
}
