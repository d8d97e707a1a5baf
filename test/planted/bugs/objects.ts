/** Bugs of object stores, of stores without a WAL, and of what guards a store from the outside. */
import { type PlantedBug, test } from '../bug.ts';

const WRITER = 'src/object/directory-writer.ts';
const DISKLESS = 'src/stream/commit-durability.ts';
const ACCESS = 'src/server/access.ts';

export const OBJECT_BUGS: readonly PlantedBug[] = [
  {
    name: 'object visible before its sync',
    file: WRITER,
    source: `      this.#openFile().syncSync();`,
    replacement: '',
    breaks: 'an object that is committed is whole after a crash',
    caughtBy: test('object/directory-writer', 'data is synced before the rename, and the directory after it'),
  },
  {
    name: 'no directory sync behind the name of an object',
    file: WRITER,
    source: `      fileSystem.syncDirectorySync(dirname(path));`,
    replacement: '',
    breaks: 'an object that is committed is there after a crash',
    caughtBy: test('object/directory-writer', 'data is synced before the rename, and the directory after it'),
  },
  {
    name: 'short write of an object taken for a whole one',
    file: WRITER,
    source: `if (written !== length) throw diskFull(this.#options.temporaryPath);`,
    replacement: '',
    breaks: 'an object that is committed is whole',
    caughtBy: test('object/directory-writer', 'bytes without an error is a full disk'),
  },
  {
    name: 'key that leaves the store',
    file: 'src/object/object-key.ts',
    source: `new Set(['', '.', '..'])`,
    replacement: `new Set(['', '.'])`,
    breaks: 'no key names a file outside its store',
    caughtBy: test('object/directory-object-store', 'keys that could leave the store or mean two things are refused'),
  },
  {
    name: 'cached range served after a delete',
    file: 'src/object/caching-object-store.ts',
    source: `    for (const key of keys) this.#cache.forget(key);
    try {
      return await this.#inner.delete(keys);
    } finally {
      // Once more, for a reader that asked for the size meanwhile.
      for (const key of keys) this.#cache.forget(key);
    }`,
    replacement: `    return await this.#inner.delete(keys);`,
    breaks: 'an object that was deleted is gone for readers too',
    caughtBy: test('object/caching-object-store', 'an object that was read before is gone after delete'),
  },
  {
    name: 'multipart upload not aborted',
    file: 'src/object/s3/writer.ts',
    source: `    await this.#upload?.abort();`,
    replacement: '',
    breaks: 'a writer that gives up leaves no parts that nobody sees and somebody pays for',
    caughtBy: test(
      'object/s3/answers',
      'that is given up, or cannot be completed, is aborted: its parts would stay and be paid for',
    ),
  },
  {
    name: 'ack before commit, without a WAL',
    file: DISKLESS,
    source: `    this.#sealed.set(slotSequence, this.#open);`,
    replacement: `    for (const { resolve, offset } of this.#open) resolve(offset);
    this.#sealed.set(slotSequence, this.#open);`,
    breaks: 'without a WAL an append is acknowledged when its object is committed',
    caughtBy: test(
      'stream/commit-durability',
      'are acknowledged when their filling is committed and not before, at the offsets that it was given',
    ),
  },
  {
    name: 'local offset acknowledged, without a WAL',
    file: DISKLESS,
    source: `entry.resolve(entry.offset + outcome.shift);`,
    replacement: `entry.resolve(entry.offset);`,
    breaks: 'an append answers the offset that the coordinator has assigned',
    caughtBy: test(
      'stream/commit-durability',
      'are acknowledged when their filling is committed and not before, at the offsets that it was given',
    ),
  },
  {
    name: 'second opener let in',
    file: 'src/store/lock.ts',
    source: `if (status === 0 && isFileAt(path, descriptor)) {`,
    replacement: `if ((status === 0 || status === 1) && isFileAt(path, descriptor)) {`,
    breaks: 'one process at a time writes to a store',
    caughtBy: test(
      'store/lock',
      'a second opener in the same process is refused, under any name of the directory, until the first closes',
    ),
  },
  {
    name: 'segment of a backup not verified',
    file: 'src/backup/copy-job.ts',
    source: `const expected = { objectKey, storeId, checksum:`,
    replacement: `const expected = { objectKey, storeId, ignored:`,
    breaks: 'a restored store has what was backed up, or the restore says what is damaged',
    caughtBy: test(
      'backup/copy-job',
      'a sound segment of another time, or a damaged one, under the same key is no copy of it',
    ),
  },
  {
    name: 'token of the HTTP server not compared',
    file: ACCESS,
    source: `if (given !== undefined && timingSafeEqual(digest(given), this.#tokenDigest)) return;`,
    replacement: `if (given !== undefined && digest(given).length === this.#tokenDigest.length) return;`,
    breaks: 'only who has the token reads and writes over HTTP',
    caughtBy: test('server/access', 'are asked for by all that tells or changes something, and by nothing else'),
  },
  {
    name: 'page of another origin let in',
    file: ACCESS,
    source: `if (TRUSTED_SITES.has(site) && (origin === undefined || isSameHost(origin, host))) return;`,
    replacement: `if (TRUSTED_SITES.has(site) || origin === undefined || isSameHost(origin, host)) return;`,
    breaks: 'no page of another origin reads or writes in the name of its visitor',
    caughtBy: test(
      'server/access',
      'a page of another origin is refused, whatever it asks; programs and the own page are not',
    ),
  },
];
