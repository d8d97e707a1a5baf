/** The page `docs/formats/backup.md` is a promise to strangers: its table is held against the code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { BACKUP_HEAD_BYTES, backupKey, decodeHead, encodeHead } from '../../src/backup/format.ts';
import { readUint64, viewOf } from '../../src/base/bytes.ts';
import { loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import { FormatPage } from '../support/format-page.ts';

const PAGE = new FormatPage(readFileSync(new URL('../../../docs/formats/backup.md', import.meta.url), 'utf8'));

const HEAD = {
  storeId: Uint8Array.from({ length: 16 }, (_, index) => index + 1),
  number: 3,
  createdAt: 1_700_000_000_000,
  streams: 5,
  records: 700,
  objects: 11,
  objectBytes: 13_000,
  imageBytes: 4_096,
  wal: { slots: 4, slotBytes: 2 ** 25 },
};

describe('the page of the backup format', () => {
  before(loadChecksum);

  it('names every field of the head, where the code writes it', () => {
    const bytes = encodeHead(HEAD);
    const view = viewOf(bytes);
    const at = new Map(PAGE.rows('Head').map((row) => [row.name, row.at]));
    const u64 = (position: number): number => readUint64(view, position);
    const u32 = (position: number): number => view.getUint32(position, true);
    const fields: [string, (position: number) => unknown, unknown][] = [
      ['checksum', (position) => view.getBigUint64(position, true), xxh64(bytes.subarray(8))],
      ['magic', (position) => Buffer.from(bytes.subarray(position, position + 4)).toString(), 'MRBK'],
      ['version', (position) => view.getUint16(position, true), 1],
      ['store id', (position) => bytes.slice(position, position + 16), HEAD.storeId],
      ['number', u64, HEAD.number],
      ['created at', (position) => Number(view.getBigInt64(position, true)), HEAD.createdAt],
      ['streams', u64, HEAD.streams],
      ['records', u64, HEAD.records],
      ['objects', u64, HEAD.objects],
      ['object bytes', u64, HEAD.objectBytes],
      ['image bytes', u64, HEAD.imageBytes],
      ['slots', u32, HEAD.wal.slots],
      ['slot bytes', u32, HEAD.wal.slotBytes],
    ];
    for (const [name, read, value] of fields) assert.deepEqual(read(at.get(name) ?? -1), value, name);
    const named = [...at.keys()].filter((name) => name !== 'reserved');
    assert.deepEqual(
      named,
      fields.map(([name]) => name),
      'and no other',
    );
    assert.equal(PAGE.table('Head').end, BACKUP_HEAD_BYTES);
  });

  it('names the key that the code gives, and what is written comes back', () => {
    assert.ok(PAGE.text.includes(`\`${backupKey(1)}\``));
    const size = BACKUP_HEAD_BYTES + HEAD.imageBytes;
    assert.deepEqual(decodeHead(encodeHead(HEAD), backupKey(HEAD.number), size), HEAD);
  });
});
