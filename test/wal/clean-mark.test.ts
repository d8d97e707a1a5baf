import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';
import { loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import { open } from '../../src/index.ts';
import { survivingPages } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import {
  CLEAN_VERSION,
  cleanMarkName,
  readCleanMark,
  takeCleanMark,
  writeCleanMark,
} from '../../src/wal/clean-mark.ts';
import type { LanePlace } from '../../src/wal/slot-files.ts';
import { FormatPage } from '../support/format-page.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const fileSystem = new NodeFileSystem();
const storeId = new Uint8Array(16).fill(7);
const start = { slotSequence: 12, blockSequence: 90 };
const flushed = { slotSequence: 11, blockSequence: 89 };

before(loadChecksum);

function placeIn(directory: string): LanePlace {
  return { fileSystem, directory, storeId, lane: 0 };
}

async function withTemporaryDirectory(use: (directory: string) => void | Promise<void>): Promise<void> {
  const directory = temporaryDirectory();
  try {
    await use(directory.path);
  } finally {
    directory.remove();
  }
}

test('a mark is taken once, and tells where the lane goes on', () =>
  withTemporaryDirectory((directory) => {
    const place = placeIn(directory);
    writeCleanMark(place, { start, flushed });
    assert.deepEqual(takeCleanMark(place, flushed)?.start, start);
    assert.equal(takeCleanMark(place, flushed), undefined);
  }));

test('a mark of another store, lane or time is taken away and not believed', () =>
  withTemporaryDirectory((directory) => {
    const place = placeIn(directory);
    const write = (): void => {
      writeCleanMark(place, { start, flushed });
    };
    write();
    assert.equal(takeCleanMark({ ...place, storeId: new Uint8Array(16) }, flushed), undefined);
    write();
    const later = { slotSequence: 12, blockSequence: 95 };
    assert.equal(takeCleanMark(place, later), undefined);
    assert.equal(existsSync(join(directory, cleanMarkName(0))), false);
  }));

test('a mark with any bit flipped, or cut at any length, is not believed', () =>
  withTemporaryDirectory((directory) => {
    const place = placeIn(directory);
    const path = join(directory, cleanMarkName(0));
    writeCleanMark(place, { start, flushed });
    const whole = readFileSync(path);
    for (let bit = 0; bit < whole.length * 8; bit += 1) {
      const damaged = Buffer.from(whole);
      damaged[bit >>> 3] = (damaged[bit >>> 3] as number) ^ (1 << (bit & 7));
      writeFileSync(path, damaged);
      assert.equal(takeCleanMark(place, flushed), undefined, `bit ${bit}`);
    }
    for (let length = 0; length < whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length));
      assert.equal(takeCleanMark(place, flushed), undefined, `length ${length}`);
    }
  }));

test('a mark that was taken stays away after a power loss, and one that was written stays', () => {
  const disk = new SimulatedDisk({ directories: ['lane'] });
  const cutPower = (live: SimulatedDisk): SimulatedDisk =>
    SimulatedDisk.afterPowerLoss(live.snapshot(), { ...survivingPages(() => true), name: () => false });
  const laneOn = (fileSystem: SimulatedDisk): LanePlace => ({ ...placeIn('lane'), fileSystem });
  writeCleanMark(laneOn(disk), { start, flushed });
  const written = cutPower(disk);
  assert.deepEqual(takeCleanMark(laneOn(written), flushed)?.start, start);
  assert.equal(readCleanMark(laneOn(cutPower(written)), flushed), undefined);
});

test('the page of the WAL format names every field of a mark, where it is written', () =>
  withTemporaryDirectory((directory) => {
    writeCleanMark({ ...placeIn(directory), lane: 3 }, { start, flushed });
    const bytes = readFileSync(join(directory, cleanMarkName(3)));
    const page = new FormatPage(readFileSync(new URL('../../../docs/formats/wal.md', import.meta.url), 'utf8'));
    const rows = page.rows('Clean mark');
    const valueAt = (at: number, length: number): unknown => {
      if (length === 16) return bytes.subarray(at, at + length);
      return length === 8 ? bytes.readBigUInt64LE(at) : bytes.readUIntLE(at, length);
    };
    const written = Object.fromEntries(rows.map(({ name, at, bytes: length }) => [name, valueAt(at, length)]));
    assert.deepEqual(written, {
      magic: Buffer.from('MRCL').readUInt32LE(),
      version: CLEAN_VERSION,
      lane: 3,
      'store id': Buffer.from(storeId),
      'next slot sequence': BigInt(start.slotSequence + 1),
      'next block sequence': BigInt(start.blockSequence + 1),
      'flushed slot sequence': BigInt(flushed.slotSequence + 1),
      'flushed block sequence': BigInt(flushed.blockSequence + 1),
      checksum: xxh64(bytes.subarray(0, 56)),
    });
    assert.equal(page.table('Clean mark').end, bytes.length);
  }));

test('closing leaves a mark, opening takes it, and what is appended then survives without another close', () =>
  withTemporaryDirectory(async (directory) => {
    const options = { wal: { slots: 2, slotBytes: 65_536 } };
    const live = join(directory, 'live');
    const crashed = join(directory, 'crashed');
    const mark = join(live, 'wal', cleanMarkName(0));
    const first = await open({ dir: live, ...options });
    await (await first.stream('s')).append('before');
    await first.close();
    assert.equal(existsSync(mark), true);

    const second = await open({ dir: live, ...options });
    assert.equal(existsSync(mark), false);
    assert.equal(await (await second.stream('s')).append('after'), 1);
    // What a kill right now would leave behind.
    cpSync(live, crashed, { recursive: true });
    await second.close();

    const third = await open({ dir: crashed, ...options });
    assert.equal((await (await third.stream('s')).get(1))?.value?.toString(), 'after');
    await third.close();
  }));
