/** The decisions about blocks, under the labels that `docs/recovery.md` explains, and torn writes of every shape. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, beforeEach, describe, it } from 'node:test';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { BLOCK_HEADER_BYTES } from '../../src/ring/block-format.ts';
import { FIRST_BLOCK_POSITION } from '../../src/ring/geometry.ts';
import { BLOCK_TABLE, decide, FILE_TABLE } from '../../src/wal/recovery-table.ts';
import { blockAt } from '../../src/wal/scan.ts';
import { survivingPages } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import {
  DIRECTORY,
  type LaneSettings,
  pagesOf,
  pathOfFilling,
  PowerLoss,
  recover,
  recoveredText,
  SMALL_RING,
  SteppedLane,
  STORE_ID,
} from '../support/stepped-lane.ts';

let disk: SimulatedDisk;

/** Flips one byte of the payload of the block at `position`. */
function damageBlock(slotSequence: number, position: number): void {
  disk.contentOf(pathOfFilling(slotSequence))[position + BLOCK_HEADER_BYTES + 20]! ^= 1;
}

/** Tears the next write: of its pages only those survive whose index in the write `keep` accepts. */
function tearNextWrite(lane: SteppedLane, keep: (page: number) => boolean): void {
  let first = 0;
  disk.onStep = ({ position = 0 }) => {
    first = position / PAGE_BYTES;
    throw new PowerLoss();
  };
  assert.throws(() => {
    lane.drain();
  });
  disk.losePower(survivingPages((_path, page) => keep(page - first)));
}

async function textAndEnd(settings: Partial<LaneSettings> = {}): Promise<{ text: string[]; endedBy: string }> {
  const { recovered, ring } = await recover(disk, settings);
  return { text: recoveredText(ring, recovered).get(1) ?? [], endedBy: recovered.report.endedBy };
}

interface Expected {
  readonly slotSequence: number;
  readonly position: number;
  readonly blockSequence: number;
  readonly rule: string;
}

async function rejectsAsDamaged(
  expected: Expected,
  settings: Partial<LaneSettings> = {},
  said = new RegExp(`at ${expected.position} was acknowledged and is damaged`),
): Promise<void> {
  await assert.rejects(recover(disk, settings), (error) => {
    assert.ok(isMillraceError(error, 'ERR_MILLRACE_WAL_CORRUPT'), String(error));
    const { slotSequence, ...details } = expected;
    const file = pathOfFilling(slotSequence);
    assert.deepEqual(error.details, { file, ...details });
    assert.ok(error.message.includes(file), error.message);
    assert.match(error.message, said);
    assert.match(error.message, /salvage: true/);
    return true;
  });
}

describe('the place where a block is due', () => {
  before(loadChecksum);
  beforeEach(() => {
    disk = new SimulatedDisk({ directories: [DIRECTORY] });
  });

  it('B1: accepts the block', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a', pagesOf(2, 'b'));
    lane.batch(1, 'c');
    const { recovered, ring } = await recover(disk);
    assert.deepEqual(recoveredText(ring, recovered).get(1), ['0:a', `1:${pagesOf(2, 'b')}`, '2:c']);
    assert.deepEqual(recovered.start, { slotSequence: 1, blockSequence: 3 });
    assert.deepEqual(recovered.fillings, [{ slotSequence: 0, endPosition: 5 * PAGE_BYTES, lastBlock: 2 }]);
    assert.deepEqual([recovered.report.blocks, recovered.report.frames, recovered.report.records], [3, 3, 3]);
  });

  it('B2: is damaged when the log begins with a later block', async () => {
    const lane = await SteppedLane.open(disk);
    for (let filling = 0; filling < 4; filling += 1) {
      if (filling === 3) lane.producer.release(0);
      lane.batch(1, `filling ${filling}`);
      lane.seal();
    }
    const flushed = { slotSequence: 0, blockSequence: 0 };
    const settings = { flushed, nextOffsets: new Map([[1, 1]]) };
    assert.deepEqual((await textAndEnd(settings)).text, ['1:filling 1', '2:filling 2', '3:filling 3']);
    // Filling 0 made room for another one, so it was flushed: nothing of the log is missing.
    await assert.rejects(recover(disk), (error) => {
      assert.ok(isMillraceError(error, 'ERR_MILLRACE_WAL_CORRUPT'), String(error));
      const position = FIRST_BLOCK_POSITION;
      assert.deepEqual(error.details, { file: pathOfFilling(1), position, blockSequence: 0, rule: 'B2' });
      assert.match(error.message, /the manifest is older than the log: put back the `manifest\/`/);
      assert.doesNotMatch(error.message, /salvage: true|damaged/);
      return true;
    });
  });

  it('B2: may be damaged, or the manifest older, while a slot holds nothing later', async () => {
    const lane = await SteppedLane.open(disk);
    for (const value of ['a', 'b']) {
      lane.batch(1, value);
      lane.seal();
    }
    const settings = { flushed: { slotSequence: 0, blockSequence: -1 } };
    const place = { slotSequence: 1, position: FIRST_BLOCK_POSITION, blockSequence: 0, rule: 'B2' };
    await rejectsAsDamaged(place, settings, /where the manifest is older than the log, put back the `manifest/);
  });

  it('B3: is damaged when a later write of the filling found it durable', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a', 'b');
    lane.batch(1, 'c');
    for (const block of [0, 1]) {
      damageBlock(0, FIRST_BLOCK_POSITION + block * PAGE_BYTES);
      await rejectsAsDamaged({
        slotSequence: 0,
        position: FIRST_BLOCK_POSITION + block * PAGE_BYTES,
        blockSequence: block,
        rule: 'B3',
      });
      damageBlock(0, FIRST_BLOCK_POSITION + block * PAGE_BYTES);
    }
    assert.deepEqual((await textAndEnd()).text, ['0:a', '1:b', '2:c']);
  });

  it('B4: ends the filling when the next one continues, across all slots', async () => {
    const lane = await SteppedLane.open(disk);
    for (const value of ['a', 'b', 'c']) {
      lane.batch(1, value, value);
      lane.seal();
    }
    const { recovered, ring } = await recover(disk);
    assert.deepEqual(recoveredText(ring, recovered).get(1), ['0:a', '1:a', '2:b', '3:b', '4:c', '5:c']);
    assert.deepEqual(
      recovered.fillings.map(({ slotSequence, lastBlock }) => [slotSequence, lastBlock]),
      [
        [0, 1],
        [1, 3],
        [2, 5],
      ],
    );
    assert.equal(recovered.released, -1);
  });

  it('B5: is damaged when the next filling begins with a later block', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a', 'b', 'c');
    lane.seal();
    lane.batch(1, 'd');
    damageBlock(0, FIRST_BLOCK_POSITION + 2 * PAGE_BYTES);
    const position = FIRST_BLOCK_POSITION + 2 * PAGE_BYTES;
    await rejectsAsDamaged({ slotSequence: 0, position, blockSequence: 2, rule: 'B5' });
    damageBlock(0, FIRST_BLOCK_POSITION + PAGE_BYTES);
    await rejectsAsDamaged({ slotSequence: 0, position: position - PAGE_BYTES, blockSequence: 1, rule: 'B5' });
  });

  it('B5: names the file of a filling that is gone as a whole', async () => {
    const lane = await SteppedLane.open(disk);
    for (const value of ['a', 'b', 'c']) {
      lane.batch(1, value);
      lane.seal();
    }
    const either = /where the manifest is older than the log, put back the `manifest/;
    for (const lost of [0, 1]) {
      const content = disk.contentOf(pathOfFilling(lost));
      const before = content.slice();
      content.fill(0, FIRST_BLOCK_POSITION);
      const place = { slotSequence: lost, position: FIRST_BLOCK_POSITION, blockSequence: lost, rule: 'B5' };
      // In front of all that is left, it may also have been flushed, and the manifest does not know it.
      await rejectsAsDamaged(place, {}, lost === 0 ? either : undefined);
      content.set(before);
    }
  });

  it('B6: ends the log where nothing proves that more of it was acknowledged', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a');
    lane.block(1, 'b');
    tearNextWrite(lane, () => false);
    assert.deepEqual(await textAndEnd(), { text: ['0:a'], endedBy: 'B6' });
  });

  it('B6: cannot tell damage of the last acknowledged batch from a torn write', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a');
    lane.batch(1, 'b', 'c');
    damageBlock(0, FIRST_BLOCK_POSITION + PAGE_BYTES);
    assert.deepEqual(await textAndEnd(), { text: ['0:a'], endedBy: 'B6' });
  });

  it('is decided by the first row that holds', () => {
    const nothing = { valid: false, laterHere: false, durableBehind: false, younger: 'none' } as const;
    const decisions = [
      { ...nothing, valid: true, durableBehind: true, younger: 'skips' },
      { ...nothing, laterHere: true, durableBehind: true },
      { ...nothing, durableBehind: true, younger: 'continues' },
      { ...nothing, younger: 'continues' },
      { ...nothing, younger: 'skips' },
      nothing,
    ] as const;
    assert.deepEqual(
      decisions.map((facts) => decide(BLOCK_TABLE, facts)).map(({ label, then }) => `${label} ${then}`),
      ['B1 accept', 'B2 damaged', 'B3 damaged', 'B4 filling-ends', 'B5 damaged', 'B6 log-ends'],
    );
  });
});

describe('the page of recovery', () => {
  it('explains every row of both tables, in their order and with their decisions', () => {
    const page = readFileSync(new URL('../../../docs/recovery.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| ([FB]\d) \| [^|]+ \| ([^|]+) \|/gm)].map(([, label, decision]) => [
      label,
      decision,
    ]);
    const words: Record<string, string> = {
      'too-new': 'refused as too new',
      foreign: 'refused as foreign',
      'filling-ends': 'the filling ends',
      'log-ends': 'the log ends',
    };
    const decisions = [...FILE_TABLE, ...BLOCK_TABLE].map(({ label, then }) => [label, words[then] ?? then]);
    assert.deepEqual(rows, decisions);
  });
});

describe('a torn write', () => {
  before(loadChecksum);
  beforeEach(() => {
    disk = new SimulatedDisk({ directories: [DIRECTORY] });
  });

  const BLOCK_PAGES = [1, 3, 2];
  const values = BLOCK_PAGES.map((pages, index) => pagesOf(pages, 'xyz'.charAt(index)));

  /** Blocks of the batch that survive as a prefix, when only the pages in `kept` reached the disk. */
  function wholeBlocks(kept: number): number {
    let page = 0;
    let blocks = 0;
    for (const pages of BLOCK_PAGES) {
      for (const end = page + pages; page < end; page += 1) {
        if ((kept & (1 << page)) === 0) return blocks;
      }
      blocks += 1;
    }
    return blocks;
  }

  it('leaves a prefix of whole blocks, whichever of its pages reached the disk', async () => {
    for (let kept = 0; kept < 2 ** 6; kept += 1) {
      disk = new SimulatedDisk({ directories: [DIRECTORY] });
      const lane = await SteppedLane.open(disk);
      lane.batch(1, 'before');
      for (const value of values) lane.block(1, value);
      tearNextWrite(lane, (page) => (kept & (1 << page)) !== 0);
      const expected = ['before', ...values.slice(0, wholeBlocks(kept))].map((value, offset) => `${offset}:${value}`);
      assert.deepEqual((await textAndEnd()).text, expected, `pages ${kept.toString(2)}`);
      const next = await SteppedLane.open(disk);
      next.batch(1, 'after');
      expected.push(`${expected.length}:after`);
      assert.deepEqual((await textAndEnd()).text, expected, `pages ${kept.toString(2)}, written on`);
    }
  });

  it('gives the same however often it is recovered', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'before');
    for (const value of values) lane.block(1, value);
    tearNextWrite(lane, (page) => page !== 2);
    const first = await recover(disk);
    const second = await recover(disk);
    assert.deepEqual(second.recovered, first.recovered);
    assert.deepEqual(Buffer.from(second.ring), Buffer.from(first.ring));
  });

  it('never brings its later blocks back, even when the log reaches their sequence elsewhere', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a');
    for (const value of ['torn', 'phantom 2', 'phantom 3']) lane.block(1, value);
    tearNextWrite(lane, (page) => page !== 0);
    const next = await SteppedLane.open(disk);
    assert.deepEqual(next.recovered.start, { slotSequence: 1, blockSequence: 1 });
    next.batch(1, 'b');
    assert.deepEqual((await textAndEnd()).text, ['0:a', '1:b']);
    next.batch(1, 'c');
    next.batch(1, 'd');
    assert.deepEqual((await textAndEnd()).text, ['0:a', '1:b', '2:c', '3:d']);
  });

  it('does not hide the blocks of a filling that follows one which only left torn blocks', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a');
    lane.seal();
    lane.block(1, 'torn');
    lane.block(1, 'phantom');
    tearNextWrite(lane, (page) => page === 1);
    const next = await SteppedLane.open(disk);
    assert.deepEqual(next.recovered.start, { slotSequence: 2, blockSequence: 1 });
    next.batch(1, 'b', 'c');
    assert.deepEqual(await textAndEnd(), { text: ['0:a', '1:b', '2:c'], endedBy: 'B6' });
  });

  it('is not taken for damage when the next one, at the same sequences, is torn as well', async () => {
    const lane = await SteppedLane.open(disk);
    for (const value of ['torn', 'phantom 1']) lane.block(1, value);
    tearNextWrite(lane, (page) => page === 1);
    const second = await SteppedLane.open(disk);
    for (const value of ['torn', 'torn', 'phantom 2']) second.block(1, value);
    tearNextWrite(second, (page) => page === 2);
    assert.deepEqual(await textAndEnd(), { text: [], endedBy: 'B6' });
  });

  it('is never completed by a second one that left the same bytes in other pages', async () => {
    const tail = 'v'.repeat(2 * PAGE_BYTES);
    const lane = await SteppedLane.open(disk);
    lane.block(1, `first ${tail}`);
    tearNextWrite(lane, (page) => page === 0);
    const second = await SteppedLane.open(disk);
    second.block(1, `other ${tail}`);
    tearNextWrite(second, (page) => page > 0);
    assert.deepEqual((await textAndEnd()).text, []);
  });

  it('does not fill the ring with fillings that hold nothing, however often it happens', async () => {
    for (const kept of [1, 0]) {
      for (let crash = 0; crash < 2 * SMALL_RING.slots; crash += 1) {
        const lane = await SteppedLane.open(disk);
        lane.block(1, pagesOf(2 - kept, 't'));
        lane.block(1, 'phantom');
        tearNextWrite(lane, (page) => page === kept);
      }
    }
    const lane = await SteppedLane.open(disk);
    assert.deepEqual(lane.recovered.frames, []);
    lane.batch(1, 'at last');
    assert.deepEqual((await textAndEnd()).text, ['0:at last']);
  });

  it('leaves room for the filling that waits for its flush', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'waits');
    for (let crash = 0; crash < 2 * SMALL_RING.slots; crash += 1) {
      const torn = await SteppedLane.open(disk);
      assert.deepEqual(recoveredText(torn.ring, torn.recovered).get(1), ['0:waits']);
      if (!torn.append(1, pagesOf(2, 't'))) break;
      torn.producer.closeBlock();
      tearNextWrite(torn, (page) => page === 0);
    }
    const last = await SteppedLane.open(disk);
    last.producer.release(0);
    last.batch(1, 'goes on');
    const settings = { flushed: { slotSequence: 0, blockSequence: 0 }, nextOffsets: new Map([[1, 1]]) };
    assert.deepEqual((await textAndEnd(settings)).text, ['1:goes on']);
  });

  it('cannot send the log far away with a header that is itself damaged', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a');
    const view = new DataView(disk.contentOf(pathOfFilling(0)).buffer);
    view.setBigUint64(FIRST_BLOCK_POSITION + 32, 3n * 2n ** 40n, true);
    const { recovered } = await recover(disk);
    assert.deepEqual(recovered.start, { slotSequence: 0, blockSequence: 0 });
  });

  it('does not revive blocks of older fillings in a recycled slot', async () => {
    const lane = await SteppedLane.open(disk);
    for (let filling = 0; filling < SMALL_RING.slots; filling += 1) {
      lane.batch(1, 'old', 'old', 'old');
      lane.seal();
    }
    lane.producer.release(0);
    lane.batch(1, 'new');
    const settings = { flushed: { slotSequence: 0, blockSequence: 2 }, nextOffsets: new Map([[1, 3]]) };
    const recycled = await textAndEnd(settings);
    assert.deepEqual(recycled.text.slice(-2), ['8:old', '9:new']);
    assert.equal(recycled.text.length, 7);
  });
});

describe('a block', () => {
  before(loadChecksum);
  beforeEach(() => {
    disk = new SimulatedDisk({ directories: [DIRECTORY] });
  });

  const IDENTITY = { lane: 0, storeId: STORE_ID };

  it('does not pass when any of its bytes has changed', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'value');
    const content = disk.contentOf(pathOfFilling(0));
    const block = blockAt(content, FIRST_BLOCK_POSITION, IDENTITY);
    assert.ok(block !== undefined);
    for (let index = 0; index < BLOCK_HEADER_BYTES + block.payloadBytes; index += 1) {
      for (const mask of [0x01, 0x80, 0xff]) {
        content[FIRST_BLOCK_POSITION + index]! ^= mask;
        assert.equal(blockAt(content, FIRST_BLOCK_POSITION, IDENTITY), undefined, `byte ${index}`);
        content[FIRST_BLOCK_POSITION + index]! ^= mask;
      }
    }
    assert.deepEqual(blockAt(content, FIRST_BLOCK_POSITION, IDENTITY), block);
  });

  it('does not pass at another position, in another lane or in another store', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'value');
    const content = disk.contentOf(pathOfFilling(0));
    content.copyWithin(FIRST_BLOCK_POSITION + PAGE_BYTES, FIRST_BLOCK_POSITION, FIRST_BLOCK_POSITION + PAGE_BYTES);
    assert.equal(blockAt(content, FIRST_BLOCK_POSITION + PAGE_BYTES, IDENTITY), undefined);
    assert.equal(blockAt(content, FIRST_BLOCK_POSITION, { ...IDENTITY, lane: 1 }), undefined);
    assert.equal(blockAt(content, FIRST_BLOCK_POSITION, { lane: 0, storeId: new Uint8Array(16) }), undefined);
    assert.notEqual(blockAt(content, FIRST_BLOCK_POSITION, IDENTITY), undefined);
  });

  it('does not pass in the file of another slot', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a');
    lane.seal();
    lane.batch(1, 'b');
    const stray = disk.contentOf(pathOfFilling(1)).slice(FIRST_BLOCK_POSITION, FIRST_BLOCK_POSITION + PAGE_BYTES);
    disk.contentOf(pathOfFilling(2)).set(stray, FIRST_BLOCK_POSITION);
    disk.contentOf(pathOfFilling(0)).set(stray, FIRST_BLOCK_POSITION + PAGE_BYTES);
    const { recovered, ring } = await recover(disk);
    assert.deepEqual(recoveredText(ring, recovered).get(1), ['0:a', '1:b']);
    assert.deepEqual(
      recovered.fillings.map(({ slotSequence }) => slotSequence),
      [0, 1],
    );
  });

  it('is held against its streams: a gap between intact blocks names both offsets', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a', 'b');
    await assert.rejects(recover(disk, { nextOffsets: new Map([[1, 5]]) }), (error) => {
      assert.ok(isMillraceError(error, 'ERR_MILLRACE_WAL_GAP'));
      assert.deepEqual(error.details, { streamId: 1, expected: 5, found: 0 });
      return true;
    });
  });

  it('is held against its streams in a salvage too, when no damage explains a gap', async () => {
    const lane = await SteppedLane.open(disk, { nextOffsets: new Map([[1, 5]]) });
    lane.batch(1, 'a');
    await assert.rejects(recover(disk, { salvage: true }), (error) => {
      assert.ok(isMillraceError(error, 'ERR_MILLRACE_WAL_GAP'));
      assert.deepEqual(error.details, { streamId: 1, expected: 0, found: 5 });
      assert.match(error.message, /the manifest is not of the time of the log, but older: put back the `manifest/);
      assert.doesNotMatch(error.message, /bug/);
      return true;
    });
  });
});
