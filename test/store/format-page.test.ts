/** The page `docs/formats/store.md` is a promise to strangers: its tables are held against the code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import { STORE_FILE, STORE_VERSION, writeIdentity } from '../../src/store/identity.ts';
import { LOCK_FILE, LOCK_GUARD, LOCK_SOCKET } from '../../src/store/lock.ts';
import { RESTORE_MARK, STORE_NAMES } from '../../src/store/paths.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { FormatPage } from '../support/format-page.ts';

const PAGE = new FormatPage(readFileSync(new URL('../../../docs/formats/store.md', import.meta.url), 'utf8'));
const STORE_ID = Uint8Array.from({ length: 16 }, (_, index) => index + 1);

describe('the page of the store directory', () => {
  before(loadChecksum);

  it('names every field of STORE, where the code writes it', () => {
    for (const wal of [true, false]) {
      const disk = new SimulatedDisk({ directories: ['/store'] });
      writeIdentity(disk, '/store', STORE_ID, { wal });
      const bytes = Buffer.from(disk.contentOf(`/store/${STORE_FILE}`));
      const at = Object.fromEntries(PAGE.rows('STORE').map((row) => [row.name, row.at]));
      assert.deepEqual(at, { magic: 0, version: 4, log: 6, 'store id': 8, checksum: 24 });
      assert.equal(bytes.toString('latin1', 0, 4), 'MRST');
      assert.equal(bytes.readUInt16LE(4), STORE_VERSION);
      assert.equal(bytes.readUInt16LE(6), wal ? 0 : 1);
      assert.deepEqual(new Uint8Array(bytes.subarray(8, 24)), STORE_ID);
      assert.equal(bytes.readBigUInt64LE(24), xxh64(bytes.subarray(0, 24)));
      assert.equal(PAGE.table('STORE').end, bytes.length);
    }
  });

  it('names all that a store may have in its directory', () => {
    const names = [...STORE_NAMES, LOCK_FILE, LOCK_SOCKET, LOCK_GUARD, RESTORE_MARK];
    const missing = names.filter((name) => !name.endsWith('.tmp') && !new RegExp(`\`${name}/?\``).test(PAGE.text));
    assert.deepEqual(missing, []);
  });
});
