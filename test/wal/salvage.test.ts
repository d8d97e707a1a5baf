import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { groupFrames } from '../../src/flush/slot-frames.ts';
import { BLOCK_HEADER_BYTES } from '../../src/ring/block-format.ts';
import { FIRST_BLOCK_POSITION, slotBase } from '../../src/ring/geometry.ts';
import { FRAME_KIND } from '../../src/record/frame-format.ts';
import { readFrameHeader } from '../../src/record/frame-reader.ts';
import { findBlocks } from '../../src/wal/scan.ts';
import { survivingPages } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { RecordingFileSystem } from '../support/recording-file-system.ts';
import {
  DIRECTORY,
  type LaneSettings,
  pagesOf,
  pathOfFilling,
  recover,
  recoveredText,
  slotPath,
  SMALL_RING,
  SteppedLane,
  STORE_ID,
} from '../support/stepped-lane.ts';

const SALVAGE = { salvage: true } as const;

let disk: SimulatedDisk;

function damage(slotSequence: number, position: number): void {
  disk.contentOf(pathOfFilling(slotSequence))[position + BLOCK_HEADER_BYTES + 20]! ^= 1;
}

interface Salvaged {
  readonly text: Record<number, string[]>;
  /** Each as `stream:from-to`. */
  readonly lost: string[];
}

/** Recovers with salvage, and checks that the flush finds in the ring exactly the frames that recovery reports. */
async function salvage(settings: Partial<LaneSettings> = {}): Promise<Salvaged> {
  const { recovered, ring } = await recover(disk, { ...settings, ...SALVAGE });
  const view = new DataView(ring);
  const flushed = recovered.fillings.flatMap((slot) =>
    groupFrames(view, SMALL_RING, slot).flatMap(({ positions }) => [...positions]),
  );
  assert.deepEqual(
    flushed.sort((left, right) => left - right),
    recovered.frames.map(({ at }) => at).sort((left, right) => left - right),
  );
  const text = Object.fromEntries([...recoveredText(ring, recovered)].filter(([, lines]) => lines.length > 0));
  const { lost } = recovered.report;
  return {
    text,
    lost: lost.map(({ streamId, firstOffset, nextOffset }) => `${streamId}:${firstOffset}-${nextOffset}`),
  };
}

/** Two streams in turn, a block each, each block a write of its own. */
function writeTurns(lane: SteppedLane, turns: number): void {
  for (let turn = 0; turn < turns; turn += 1) {
    lane.batch(1, `a${turn}`);
    lane.batch(2, `b${turn}`);
  }
}

describe('a salvage', () => {
  before(loadChecksum);
  beforeEach(() => {
    disk = new SimulatedDisk({ directories: [DIRECTORY] });
  });

  it('changes nothing where nothing is damaged', async () => {
    const lane = await SteppedLane.open(disk);
    writeTurns(lane, 3);
    const plain = await recover(disk);
    const salvaged = await recover(disk, SALVAGE);
    assert.deepEqual(salvaged.recovered, plain.recovered);
    assert.deepEqual(salvaged.recovered.report.damages, []);
  });

  it('notes exactly the offsets of a damaged block, and keeps all later records', async () => {
    const lane = await SteppedLane.open(disk);
    writeTurns(lane, 3);
    damage(0, FIRST_BLOCK_POSITION + 2 * PAGE_BYTES);
    await assert.rejects(recover(disk), { code: 'ERR_MILLRACE_WAL_CORRUPT' });
    assert.deepEqual(await salvage(), {
      text: { 1: ['0:a0', '2:a2'], 2: ['0:b0', '1:b1', '2:b2'] },
      lost: ['1:1-2'],
    });
  });

  it('notes the streams of a block with many of them, one range each', async () => {
    const lane = await SteppedLane.open(disk);
    const streams = [1, 2, 3, 4, 5];
    for (const streamId of streams) lane.append(streamId, 'kept');
    lane.producer.closeBlock();
    lane.drain();
    for (const streamId of streams) for (let count = 0; count < streamId; count += 1) lane.append(streamId, 'lost');
    lane.producer.closeBlock();
    lane.drain();
    for (const streamId of streams) lane.append(streamId, 'later');
    lane.producer.closeBlock();
    lane.drain();
    damage(0, FIRST_BLOCK_POSITION + PAGE_BYTES);
    const { text, lost } = await salvage();
    assert.deepEqual(lost, ['1:1-2', '2:1-3', '3:1-4', '4:1-5', '5:1-6']);
    assert.deepEqual(text[5], ['0:kept', '6:later']);
  });

  it('covers blocks that were damaged next to each other, and several places of one filling', async () => {
    const lane = await SteppedLane.open(disk);
    writeTurns(lane, 6);
    for (const block of [2, 3, 7]) damage(0, FIRST_BLOCK_POSITION + block * PAGE_BYTES);
    assert.deepEqual(await salvage(), {
      text: { 1: ['0:a0', '2:a2', '3:a3', '4:a4', '5:a5'], 2: ['0:b0', '2:b2', '4:b4', '5:b5'] },
      lost: ['1:1-2', '2:1-2', '2:3-4'],
    });
  });

  it('covers what was lost at the end of a filling', async () => {
    const lane = await SteppedLane.open(disk);
    writeTurns(lane, 2);
    lane.seal();
    writeTurns(lane, 1);
    damage(0, FIRST_BLOCK_POSITION + 2 * PAGE_BYTES);
    damage(0, FIRST_BLOCK_POSITION + 3 * PAGE_BYTES);
    assert.deepEqual(await salvage(), { text: { 1: ['0:a0', '2:a0'], 2: ['0:b0', '2:b0'] }, lost: ['1:1-2', '2:1-2'] });
  });

  it('covers a whole filling whose file is gone, and makes the file anew', async () => {
    const lane = await SteppedLane.open(disk);
    const pages = SMALL_RING.slotBytes / PAGE_BYTES - 1;
    lane.batch(1, pagesOf(pages, 'x'));
    lane.batch(1, 'lost');
    lane.seal();
    lane.batch(1, 'later');
    disk.removeSync(slotPath(1));
    assert.deepEqual(await salvage(), { text: { 1: [`0:${pagesOf(pages, 'x')}`, '2:later'] }, lost: ['1:1-2'] });
    const next = await SteppedLane.open(disk, SALVAGE);
    assert.deepEqual(next.recovered.unusableFiles, [1]);
    await assert.rejects(recover(disk), { code: 'ERR_MILLRACE_WAL_CORRUPT' }, 'until the loss is flushed');
  });

  it('covers the oldest filling when its file is gone', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'lost', 'lost');
    lane.seal();
    lane.batch(1, 'later');
    disk.removeSync(slotPath(0));
    assert.deepEqual(await salvage(), { text: { 1: ['2:later'] }, lost: ['1:0-2'] });
  });

  it('reads blocks behind a damaged header, in a cut file, and around pages that the disk cannot read', async () => {
    const lane = await SteppedLane.open(disk);
    writeTurns(lane, 2);
    const intact = { 1: ['0:a0', '1:a1'], 2: ['0:b0', '1:b1'] };
    const content = disk.contentOf(slotPath(0)).slice();
    disk.contentOf(slotPath(0)).fill(0xff, 0, PAGE_BYTES);
    assert.deepEqual((await salvage()).text, intact);
    disk.put(slotPath(0), content.subarray(0, FIRST_BLOCK_POSITION + 4 * PAGE_BYTES));
    assert.deepEqual((await salvage()).text, intact);
    disk.put(slotPath(0), content);
    const failing = new RecordingFileSystem(disk);
    let reads = 0;
    failing.on('read', ({ path, length }) => {
      if (path !== slotPath(0)) return;
      reads += 1;
      // The first read is of everything; behind it, the fourth page holds b0.
      if (length !== PAGE_BYTES || reads === 4) throw systemError('EIO');
    });
    await assert.rejects(recover(failing), { code: 'ERR_MILLRACE_READ_FAILED' });
    reads = 0;
    const { recovered, ring } = await recover(failing, SALVAGE);
    assert.deepEqual(Object.fromEntries(recoveredText(ring, recovered)), { 1: ['0:a0', '1:a1'], 2: ['1:b1'] });
    assert.deepEqual(recovered.report.lost, [{ streamId: 2, firstOffset: 0, nextOffset: 1 }]);
  });

  it('repairs what it found damaged of the files when the lane is opened', async () => {
    const lane = await SteppedLane.open(disk);
    writeTurns(lane, 2);
    disk.contentOf(slotPath(0)).fill(0xff, 0, PAGE_BYTES);
    disk.put(slotPath(1), disk.contentOf(slotPath(1)).subarray(0, 100));
    const next = await SteppedLane.open(disk, SALVAGE);
    assert.deepEqual(next.recovered.unusableFiles, [0, 1]);
    next.batch(1, 'more');
    const { recovered, ring } = await recover(disk);
    assert.deepEqual(recoveredText(ring, recovered).get(1), ['0:a0', '1:a1', '2:more']);
  });

  it('never gives out an offset again that was lost', async () => {
    const lane = await SteppedLane.open(disk);
    writeTurns(lane, 3);
    damage(0, FIRST_BLOCK_POSITION + 2 * PAGE_BYTES);
    const next = await SteppedLane.open(disk, SALVAGE);
    assert.equal(next.stream(1).nextOffset, 3);
    next.batch(1, 'more');
    const { text } = await salvage();
    assert.deepEqual(text[1], ['0:a0', '2:a2', '3:more']);
  });

  it('is over once the damaged fillings are flushed', async () => {
    for (const lostBlocks of [[2], [2, 3], [4, 5]]) {
      disk = new SimulatedDisk({ directories: [DIRECTORY] });
      const lane = await SteppedLane.open(disk);
      writeTurns(lane, 3);
      lane.seal();
      writeTurns(lane, 1);
      for (const block of lostBlocks) damage(0, FIRST_BLOCK_POSITION + block * PAGE_BYTES);
      const { recovered } = await recover(disk, SALVAGE);
      const [first] = recovered.fillings;
      assert.ok(first !== undefined);
      const flushed = { slotSequence: first.slotSequence, blockSequence: first.lastBlock };
      const nextOffsets = new Map([
        [1, 3],
        [2, 3],
      ]);
      const after = await recover(disk, { flushed, nextOffsets });
      assert.deepEqual(
        [...recoveredText(after.ring, after.recovered)],
        [
          [1, ['3:a0']],
          [2, ['3:b0']],
        ],
        `lost ${lostBlocks.join()}`,
      );
    }
  });

  it('does not take a dropped block of a torn write for the one behind the damage', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a', 'damaged');
    for (const value of ['torn', 'phantom']) lane.block(1, value);
    disk.onStep = () => {
      throw systemError('EIO');
    };
    assert.throws(() => {
      lane.drain();
    });
    disk.losePower(survivingPages((_path, page) => page === 4));
    const next = await SteppedLane.open(disk);
    next.batch(1, 'b', 'c', 'd');
    damage(0, FIRST_BLOCK_POSITION + PAGE_BYTES);
    assert.deepEqual(await salvage(), { text: { 1: ['0:a', '2:b', '3:c', '4:d'] }, lost: ['1:1-2'] });
  });

  it('finds room for the ranges of a large damage that show only behind a small one', async () => {
    const lane = await SteppedLane.open(disk);
    const streams = Array.from({ length: 200 }, (_, index) => index + 1);
    for (const streamId of streams) lane.append(streamId, 'x');
    lane.producer.closeBlock();
    lane.drain();
    lane.batch(500, 'between');
    lane.batch(501, 'small');
    for (const streamId of streams) lane.append(streamId, 'y');
    lane.append(501, 'z');
    lane.producer.closeBlock();
    lane.drain();
    const blocks = findBlocks(disk.contentOf(slotPath(0)), { lane: 0, storeId: STORE_ID });
    assert.equal(blocks.length, 4);
    for (const index of [0, 2]) damage(0, blocks[index]!.position);
    const { text, lost } = await salvage();
    assert.equal(lost.length, 201);
    assert.deepEqual([text[1], text[200], text[501]], [['1:y'], ['1:y'], ['1:z']]);
  });

  it('says so when the log lacks more than the ring has room to note', async () => {
    const lane = await SteppedLane.open(disk);
    for (let filling = 0; filling < 4; filling += 1) {
      if (filling === 3) lane.producer.release(0);
      lane.batch(1, `filling ${filling}`);
      lane.seal();
    }
    await assert.rejects(recover(disk, SALVAGE), { code: 'ERR_MILLRACE_WAL_GAP' });
  });

  it('writes lost frames that cover offsets and hold no record', async () => {
    const lane = await SteppedLane.open(disk);
    writeTurns(lane, 3);
    damage(0, FIRST_BLOCK_POSITION + 2 * PAGE_BYTES);
    const { recovered, ring } = await recover(disk, SALVAGE);
    const lost = recovered.frames.filter(({ header }) => header.kind === FRAME_KIND.lost);
    assert.deepEqual(
      lost.map(({ at, slotSequence }) => at - slotBase(SMALL_RING, slotSequence)),
      [FIRST_BLOCK_POSITION + 2 * PAGE_BYTES + BLOCK_HEADER_BYTES],
    );
    const header = readFrameHeader(new DataView(ring), lost[0]!.at);
    assert.deepEqual(
      [header.streamId, header.firstOffset, header.offsetSpan, header.recordCount, header.frameBytes],
      [1, 1, 1, 0, 48],
    );
  });

  it('writes lost frames under the epoch of their stream, by its last frame or else by the coordinator', async () => {
    const settings = { epochs: new Map([[1, 3]]) };
    const lane = await SteppedLane.open(disk, settings);
    lane.batch(1, 'lost');
    lane.seal();
    lane.batch(1, 'kept');
    lane.seal();
    lane.stream(1).epoch = 4;
    for (const value of ['kept', 'lost', 'kept']) lane.batch(1, value);
    damage(0, FIRST_BLOCK_POSITION);
    damage(2, FIRST_BLOCK_POSITION + PAGE_BYTES);
    const { recovered } = await recover(disk, { ...settings, ...SALVAGE });
    const epochs = recovered.frames.map(({ header }) => `${header.firstOffset} of epoch ${header.epoch}`);
    const expected = ['0 of epoch 3', '1 of epoch 3', '2 of epoch 4', '3 of epoch 4', '4 of epoch 4'];
    assert.deepEqual(epochs, expected);
  });

  it('lets a stream go on below its end where the truncation that cut it is lost', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a', 'b', 'c');
    lane.truncate(1, 1);
    lane.batch(1, 'd', 'e');
    lane.truncate(1, 0);
    lane.batch(1, 'lost');
    lane.batch(1, 'f');
    for (const block of [3, 6, 7]) damage(0, FIRST_BLOCK_POSITION + block * PAGE_BYTES);
    const { recovered } = await recover(disk, SALVAGE);
    const { lost, lostTruncations } = recovered.report;
    assert.deepEqual(lost, []);
    assert.deepEqual(lostTruncations, [
      { streamId: 1, nextOffset: 1 },
      { streamId: 1, nextOffset: 1 },
    ]);
    assert.deepEqual(
      recovered.frames.map(({ header }) => `${header.kind}: ${header.firstOffset} of epoch ${header.epoch}`),
      [
        ...[0, 1, 2].map((offset) => `${FRAME_KIND.records}: ${offset} of epoch 0`),
        `${FRAME_KIND.truncation}: 1 of epoch 1`,
        ...[1, 2].map((offset) => `${FRAME_KIND.records}: ${offset} of epoch 1`),
        `${FRAME_KIND.truncation}: 1 of epoch 2`,
        `${FRAME_KIND.records}: 1 of epoch 2`,
      ],
    );
    await salvage();
    const next = await SteppedLane.open(disk, SALVAGE);
    next.batch(1, 'g');
    assert.deepEqual((await salvage()).text[1], ['0:a', '1:b', '2:c', '1:d', '2:e', '1:f', '2:g']);
  });

  it('keeps every intact record, whichever acknowledged bytes are damaged', async () => {
    const block = fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3000 })), {
      minLength: 1,
      maxLength: 6,
    });
    const blocks = fc.array(fc.record({ records: block, seal: fc.integer({ min: 0, max: 4 }), write: fc.boolean() }), {
      minLength: 4,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(blocks, fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), async (plan, damages) => {
        disk = new SimulatedDisk({ directories: [DIRECTORY] });
        const lane = await SteppedLane.open(disk);
        const written: string[][] = [];
        const offsets = new Map<number, number>();
        for (const { records, seal, write } of plan) {
          if (lane.producer.slotSequence === SMALL_RING.slots - 1 && lane.producer.slotUsedBytes > 40_000) break;
          const lines: string[] = [];
          for (const [streamId, bytes] of records) {
            const value = `${written.length}.`.padEnd(bytes, '-');
            if (!lane.append(streamId, value)) break;
            const offset = offsets.get(streamId) ?? 0;
            offsets.set(streamId, offset + 1);
            lines.push(`${streamId}/${offset}:${value}`);
          }
          const sequence = lane.producer.blockSequence;
          lane.producer.closeBlock();
          if (lane.producer.blockSequence === sequence + 1) written.push(lines);
          if (seal === 0) lane.producer.sealSlot();
          if (write) lane.drain();
        }
        lane.drain();
        const places = [0, 1, 2].flatMap((slot) =>
          findBlocks(disk.contentOf(slotPath(slot)), { lane: 0, storeId: STORE_ID }),
        );
        fc.pre(places.length === written.length);
        const broken = new Set<number>();
        for (const index of damages.map((number) => number % (places.length - 1))) {
          // With the beginning of a younger filling goes the proof of what lay in front of it: only alone.
          const provesOthers = places[index]!.position === FIRST_BLOCK_POSITION && places[index]!.slotSequence > 0;
          if (!provesOthers || broken.size === 0) broken.add(index);
          if (provesOthers) break;
        }
        for (const index of broken) damage(places[index]!.slotSequence, places[index]!.position);
        const { recovered, ring } = await recover(disk, SALVAGE);
        const found = [...recoveredText(ring, recovered)].flatMap(([streamId, lines]) =>
          lines.map((line) => `${streamId}/${line}`),
        );
        const through = recovered.start.blockSequence;
        const expected = written.slice(0, through).filter((_, index) => !broken.has(places[index]!.blockSequence));
        assert.deepEqual(found.sort(), expected.flat().sort());
        await salvage();
      }),
      { numRuns: 200, includeErrorInReport: true },
    );
  });

  it('refuses without being asked for', async () => {
    const lane = await SteppedLane.open(disk);
    writeTurns(lane, 3);
    damage(0, FIRST_BLOCK_POSITION);
    await assert.rejects(recover(disk), (error) => isMillraceError(error, 'ERR_MILLRACE_WAL_CORRUPT'));
  });
});
