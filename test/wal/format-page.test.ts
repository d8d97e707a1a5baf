/** The page `docs/formats/wal.md` is a promise to strangers: its tables and example are held against the code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { viewOf } from '../../src/base/bytes.ts';
import { loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import { BLOCK_HEADER_BYTES, readBlockHeader } from '../../src/ring/block-format.ts';
import { FIRST_BLOCK_POSITION } from '../../src/ring/geometry.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { findBlocks } from '../../src/wal/scan.ts';
import { readSlotHeader } from '../../src/wal/slot-format.ts';
import { FormatPage } from '../support/format-page.ts';
import { exampleSlot, EXAMPLE } from '../support/slot-example.ts';

// Tests run from `dist/test/wal`.
const PAGE = new FormatPage(readFileSync(new URL('../../../docs/formats/wal.md', import.meta.url), 'utf8'));

/** What the code reads, by the name that the page gives the field. */
function namedFields(header: object): Map<string, unknown> {
  const words = (property: string): string => property.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return new Map(
    Object.entries(header as Record<string, unknown>).map(([property, value]) => [words(property), value]),
  );
}

/** Reads the field of a row out of the dump by nothing but what the row says. */
function fieldOf(bytes: Buffer, { at, bytes: length }: { at: number; bytes: number }): unknown {
  if (length === 16) return new Uint8Array(bytes.subarray(at, at + 16));
  if (length === 8) return bytes.readBigUInt64LE(at);
  return bytes.readUIntLE(at, length);
}

function assertRows(heading: string, dumped: Buffer, header: object, end: number): void {
  const named = namedFields(header);
  const rows = PAGE.rows(heading);
  for (const row of rows.filter(({ name }) => name !== 'reserved')) {
    const expected = named.get(row.name);
    assert.ok(expected !== undefined, `the code knows no ${row.name}`);
    const value = fieldOf(dumped, row);
    assert.deepEqual(
      typeof value === 'bigint' && typeof expected === 'number' ? Number(value) : value,
      expected,
      row.name,
    );
    named.delete(row.name);
  }
  assert.deepEqual([...named.keys()], [], 'fields that the page leaves out');
  assert.equal(PAGE.table(heading).end, end);
}

describe('the page of the WAL format', () => {
  before(loadChecksum);

  const dumped = PAGE.dump('hexdump');
  const block = dumped.subarray(FIRST_BLOCK_POSITION);

  it('shows the bytes that are written', async () => {
    const content = await exampleSlot();
    assert.equal(dumped.toString('hex'), Buffer.from(content.subarray(0, dumped.length)).toString('hex'));
    assert.ok(content.subarray(dumped.length).every((byte) => byte === 0));
  });

  it('names every field of the slot header, where the code reads it', () => {
    assertRows('Slot header', dumped, readSlotHeader(viewOf(dumped)), 48);
  });

  it('names every field of a block, where the code reads it', () => {
    assertRows('Block', block, readBlockHeader(viewOf(block), 0), BLOCK_HEADER_BYTES);
    assert.deepEqual(PAGE.rows('Block').at(-1), { at: 60, bytes: 4, name: 'reserved' });
  });

  it('shows a block that a reader takes, and the record in it', () => {
    const whole = new Uint8Array(EXAMPLE.geometry.slotBytes);
    whole.set(dumped);
    const [found, ...others] = findBlocks(whole, EXAMPLE);
    assert.deepEqual(others, []);
    assert.ok(found !== undefined);
    assert.deepEqual([found.slotSequence, found.blockSequence, found.position], [5, 9, FIRST_BLOCK_POSITION]);
    const payload = whole.slice(FIRST_BLOCK_POSITION + 64, FIRST_BLOCK_POSITION + 64 + found.payloadBytes);
    const [record] = RecordBatch.decode(payload, { name: 'page', baseOffset: 0 }, 0, Infinity);
    assert.deepEqual([record?.offset, String(record?.key), String(record?.value)], [42, 'k', 'hello']);
  });

  it('states the checksums that its example has', () => {
    const plain = /xxh64 of \[(\d+), (\d+)\), is\s+`([0-9a-f]{16})`/.exec(PAGE.text);
    const seeded = /xxh64 of \[(\d+), (\d+)\) seeded by\s+`([0-9a-f]{16})`, is\s+`([0-9a-f]{16})`/.exec(PAGE.text);
    assert.ok(plain !== null && seeded !== null);
    const sumOf = ([, from, to]: RegExpExecArray, seed?: bigint): string =>
      xxh64(dumped.subarray(Number(from), Number(to)), seed)
        .toString(16)
        .padStart(16, '0');
    assert.equal(sumOf(plain), plain[3]);
    assert.equal(sumOf(seeded, BigInt(`0x${seeded[3] ?? ''}`)), seeded[4]);
    assert.equal(viewOf(dumped).getBigUint64(40, true), BigInt(`0x${plain[3] ?? ''}`));
    assert.equal(viewOf(block).getBigUint64(0, true), BigInt(`0x${seeded[4] ?? ''}`));
  });
});
