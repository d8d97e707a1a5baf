/** The backups in a target: found, read, and held against their checksums. */
import { MillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { decodeImage } from '../coordinator/manifest/image.ts';
import type { WindowSource } from '../coordinator/manifest/file-window.ts';
import type { State } from '../coordinator/state/state.ts';
import { BACKUP_HEAD_BYTES, BACKUP_PREFIX, backupKey, type BackupHead, decodeHead, parseBackupKey } from './format.ts';

/** Numbers of the backups that are complete, ascending. One that was cut short is not among them. */
export async function listBackups(target: ObjectStore): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { key } of target.list(BACKUP_PREFIX)) {
    const number = parseBackupKey(key);
    if (number !== undefined) numbers.push(number);
  }
  return numbers.sort((left, right) => left - right);
}

export async function readHead(target: ObjectStore, number: number): Promise<BackupHead> {
  const key = backupKey(number);
  const size = await target.size(key);
  if (size === undefined) throw backupNotFound(`there is no backup ${number}`);
  return decodeHead(await target.read(key, 0, Math.min(BACKUP_HEAD_BYTES, size)), key, size);
}

/** The head of the backup of that number, by default of the latest. */
export async function chooseBackup(target: ObjectStore, number: number | undefined): Promise<BackupHead> {
  const chosen = number ?? (await listBackups(target)).at(-1);
  if (chosen === undefined) throw backupNotFound('the target holds no complete backup');
  return readHead(target, chosen);
}

/** The state that a backup holds. */
export async function readState(target: ObjectStore, { number, storeId, imageBytes }: BackupHead): Promise<State> {
  const key = backupKey(number);
  const size = BACKUP_HEAD_BYTES + imageBytes;
  return decodeImage(asFile(target, key), size, { storeId, number, position: BACKUP_HEAD_BYTES });
}

function asFile(target: ObjectStore, key: string): WindowSource {
  return {
    path: key,
    read: async (into, offset, length, position) => {
      const bytes = await target.read(key, position, length);
      into.set(bytes, offset);
      return bytes.length;
    },
  };
}

function backupNotFound(what: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_BACKUP_NOT_FOUND', `${what}: "millrace backups <target>" lists what is there`);
}
