/** The decisions about slot files as files, each under the label that `docs/recovery.md` explains. */
import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import { viewOf } from '../../src/base/bytes.ts';
import type { FileSystem } from '../../src/base/file-system.ts';
import { loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { BLOCK_HEADER_BYTES, blockSeed } from '../../src/ring/block-format.ts';
import { FIRST_BLOCK_POSITION } from '../../src/ring/geometry.ts';
import { decide, FILE_TABLE } from '../../src/wal/recovery-table.ts';
import { createSlotFiles, type LanePlace, parseSlotFileName, slotFileName } from '../../src/wal/slot-files.ts';
import { readSlotHeader, SLOT_CHECKED_BYTES, writeSlotHeader } from '../../src/wal/slot-format.ts';
import { survivingPages } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { RecordingFileSystem } from '../support/recording-file-system.ts';
import {
  DIRECTORY,
  recover,
  recoveredText,
  slotPath,
  SMALL_RING,
  SteppedLane,
  STORE_ID,
} from '../support/stepped-lane.ts';

let disk: SimulatedDisk;

/** Rewrites a file's header with a valid checksum. */
function rewriteHeader(slotIndex: number, change: (view: DataView) => void): void {
  const content = disk.contentOf(slotPath(slotIndex));
  const view = viewOf(content);
  change(view);
  view.setBigUint64(SLOT_CHECKED_BYTES, xxh64(content.subarray(0, SLOT_CHECKED_BYTES)), true);
}

function laneOn(fileSystem: FileSystem): LanePlace {
  return { fileSystem, directory: DIRECTORY, storeId: STORE_ID, lane: 0 };
}

async function rejectsWith(code: string, rule: string, slotIndex: number): Promise<void> {
  await assert.rejects(recover(disk), (error) => {
    assert.ok(isMillraceError(error, code as never), String(error));
    assert.ok(error.message.includes(slotPath(slotIndex)), error.message);
    assert.deepEqual(error.details, { file: slotPath(slotIndex), position: 0, rule });
    return true;
  });
}

describe('a slot file', () => {
  before(loadChecksum);
  beforeEach(async () => {
    disk = new SimulatedDisk({ directories: [DIRECTORY] });
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a', 'b');
  });

  it('F1: is created when the store was never born', async () => {
    const row = decide(FILE_TABLE, {
      present: false,
      storeBorn: false,
      headerValid: false,
      versionKnown: false,
      sameStore: false,
      placed: false,
    });
    assert.deepEqual([row.label, row.then], ['F1', 'create']);
    const empty = new SimulatedDisk({ directories: [DIRECTORY] });
    await createSlotFiles(laneOn(empty), SMALL_RING);
    const { recovered } = await recover(empty);
    assert.deepEqual(recovered.start, { slotSequence: 0, blockSequence: 0 });
    assert.deepEqual(recovered.frames, []);
    assert.deepEqual(recovered.fillings, []);
  });

  it('F2: is damaged when it is missing from a born store', async () => {
    disk.removeSync(slotPath(1));
    await rejectsWith('ERR_MILLRACE_WAL_CORRUPT', 'F2', 1);
  });

  it('F3: is damaged when any byte of its header has changed', async () => {
    const content = disk.contentOf(slotPath(2));
    for (let index = 0; index < SLOT_CHECKED_BYTES + 8; index += 1) {
      content[index]! ^= 0x10;
      await rejectsWith('ERR_MILLRACE_WAL_CORRUPT', 'F3', 2);
      content[index]! ^= 0x10;
    }
    await recover(disk);
  });

  it('F3: is damaged when it is shorter than a header', async () => {
    for (const length of [0, 1, 47]) {
      disk.put(slotPath(0), disk.contentOf(slotPath(0)).slice(0, length));
      await rejectsWith('ERR_MILLRACE_WAL_CORRUPT', 'F3', 0);
    }
  });

  it('F4: is refused, and left as it is, when a newer version wrote it', async () => {
    rewriteHeader(0, (view) => {
      view.setUint16(4, 2, true);
    });
    const content = disk.contentOf(slotPath(0)).slice();
    await rejectsWith('ERR_MILLRACE_FORMAT_TOO_NEW', 'F4', 0);
    await assert.rejects(recover(disk, { salvage: true }), { code: 'ERR_MILLRACE_FORMAT_TOO_NEW' });
    assert.deepEqual(disk.contentOf(slotPath(0)), content);
  });

  it('F4: is refused when a newer version wrote blocks to it that are not flushed', async () => {
    const content = disk.contentOf(slotPath(0));
    const view = viewOf(content);
    view.setUint16(FIRST_BLOCK_POSITION + 12, 2, true);
    await assert.doesNotReject(recover(disk), 'a torn header is no newer version');
    const end = FIRST_BLOCK_POSITION + BLOCK_HEADER_BYTES + view.getUint32(FIRST_BLOCK_POSITION + 52, true);
    const sum = xxh64(content.subarray(FIRST_BLOCK_POSITION + 8, end), blockSeed(0, FIRST_BLOCK_POSITION));
    view.setBigUint64(FIRST_BLOCK_POSITION, sum, true);
    await rejectsWith('ERR_MILLRACE_FORMAT_TOO_NEW', 'F4', 0);
    await recover(disk, { flushed: { slotSequence: 0, blockSequence: 1 }, nextOffsets: new Map([[1, 2]]) });
  });

  it('F5: is refused when it belongs to another store, even in a salvage', async () => {
    rewriteHeader(1, (view) => {
      view.setUint8(24, 0xff);
    });
    await rejectsWith('ERR_MILLRACE_FOREIGN_FILE', 'F5', 1);
    await assert.rejects(recover(disk, { salvage: true }), { code: 'ERR_MILLRACE_FOREIGN_FILE' });
  });

  it('F6: is damaged when it lies in the place of another', async () => {
    const first = disk.contentOf(slotPath(0)).slice();
    disk.put(slotPath(0), disk.contentOf(slotPath(1)));
    disk.put(slotPath(1), first);
    await rejectsWith('ERR_MILLRACE_WAL_CORRUPT', 'F6', 0);
  });

  it('F6: is damaged when it belongs to another lane or to a ring of another shape', async () => {
    const changes: ((view: DataView) => void)[] = [
      (view) => view.setUint16(6, 1, true),
      (view) => view.setUint32(12, 4, true),
      (view) => view.setBigUint64(16, 1n << 17n, true),
      (view) => view.setBigUint64(16, 1n << 63n, true),
    ];
    const header = readSlotHeader(viewOf(disk.contentOf(slotPath(0))));
    for (const change of changes) {
      rewriteHeader(0, change);
      await rejectsWith('ERR_MILLRACE_WAL_CORRUPT', 'F6', 0);
      writeSlotHeader(viewOf(disk.contentOf(slotPath(0))), header, xxh64);
    }
    await recover(disk);
  });

  it('F6: is damaged when it is shorter or longer than a slot', async () => {
    const content = disk.contentOf(slotPath(0)).slice();
    for (const size of [48, 4096, content.length - 1, content.length + 1]) {
      const resized = new Uint8Array(size);
      resized.set(content.subarray(0, size));
      disk.put(slotPath(0), resized);
      await rejectsWith('ERR_MILLRACE_WAL_CORRUPT', 'F6', 0);
    }
  });

  it('F7: is used when nothing is wrong with it', async () => {
    const { recovered, ring } = await recover(disk);
    assert.deepEqual(recoveredText(ring, recovered).get(1), ['0:a', '1:b']);
    assert.deepEqual(recovered.unusableFiles, []);
  });

  it('names itself in the error when the disk cannot read it', async () => {
    const failing = new RecordingFileSystem(disk);
    failing.on('read', ({ path }) => {
      if (path === slotPath(1)) throw systemError('EIO');
    });
    await assert.rejects(recover(failing), (error) => {
      assert.ok(isMillraceError(error, 'ERR_MILLRACE_READ_FAILED'));
      assert.match(error.message, /slot-001\.wal: EIO/);
      return true;
    });
    assert.equal(failing.openHandles, 0);
  });

  it('is read whole when reads come back short', async () => {
    const hasty = new RecordingFileSystem(disk);
    hasty.on('read', () => 1000);
    const { recovered, ring } = await recover(hasty);
    assert.deepEqual(recoveredText(ring, recovered).get(1), ['0:a', '1:b']);
  });

  it('is made durable before anything read from it is served', async () => {
    const log = new RecordingFileSystem(disk);
    await recover(log);
    const synced = log.calls.filter(({ operation }) => operation === 'sync').map(({ path }) => path);
    assert.deepEqual(
      synced,
      [0, 1, 2].map((index) => slotPath(index)),
    );
    assert.equal(log.count('write'), 0, 'recovery writes nothing');
  });
});

describe('the birth of slot files', () => {
  before(loadChecksum);
  beforeEach(() => {
    disk = new SimulatedDisk({ directories: [DIRECTORY] });
  });

  it('writes zeros behind a header that recovery accepts', async () => {
    await createSlotFiles({ ...laneOn(disk), lane: 7 }, SMALL_RING);
    for (let slotIndex = 0; slotIndex < SMALL_RING.slots; slotIndex += 1) {
      const content = disk.contentOf(slotPath(slotIndex, 7));
      assert.equal(content.length, SMALL_RING.slotBytes);
      assert.ok(content.subarray(48).every((byte) => byte === 0));
      const { lane, slotIndex: index, slots, slotBytes, storeId } = readSlotHeader(viewOf(content));
      assert.deepEqual({ lane, index, slots, slotBytes }, { lane: 7, index: slotIndex, slots: 3, slotBytes: 65_536 });
      assert.deepEqual(storeId, STORE_ID);
    }
    assert.deepEqual(disk.unsyncedPages(), []);
  });

  it('are there after a power loss as soon as they are made', async () => {
    await createSlotFiles({ ...laneOn(disk), lane: 7 }, SMALL_RING);
    const survival = { ...survivingPages(() => false), name: () => false };
    const after = SimulatedDisk.afterPowerLoss(disk.snapshot(), survival);
    for (let slotIndex = 0; slotIndex < SMALL_RING.slots; slotIndex += 1) {
      assert.deepEqual(after.contentOf(slotPath(slotIndex, 7)), disk.contentOf(slotPath(slotIndex, 7)));
    }
  });

  it('leaves files that are there alone', async () => {
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a');
    disk.removeSync(slotPath(2));
    const content = disk.contentOf(slotPath(0)).slice();
    await createSlotFiles(laneOn(disk), SMALL_RING);
    assert.deepEqual(disk.contentOf(slotPath(0)), content);
    assert.notEqual(disk.statSync(slotPath(2)), undefined);
  });

  it('shows a file under its name only when it is whole, and starts over after a failure', async () => {
    const failing = new RecordingFileSystem(disk);
    failing.on('sync', () => {
      throw systemError('ENOSPC');
    });
    const create = (): Promise<void> => createSlotFiles(laneOn(failing), SMALL_RING);
    await assert.rejects(create(), { code: 'ERR_MILLRACE_DISK_FULL' });
    assert.equal(disk.statSync(slotPath(0)), undefined);
    failing.off('sync');
    await create();
    await recover(disk);
    assert.equal(failing.openHandles, 0);
  });

  it('stops at a short write', async () => {
    const failing = new RecordingFileSystem(disk);
    failing.on('write', () => 4096 - 1);
    await assert.rejects(createSlotFiles(laneOn(failing), SMALL_RING), {
      code: 'ERR_MILLRACE_DISK_FULL',
    });
  });

  it('goes through the page cache where direct I/O is refused, at open or at the first write', async () => {
    await createSlotFiles(laneOn(new SimulatedDisk({ directories: [DIRECTORY], direct: false })), SMALL_RING);
    const refusing = new RecordingFileSystem(disk);
    let direct = false;
    refusing.on('open', ({ mode }) => {
      direct = mode?.direct === true;
    });
    refusing.on('write', () => {
      if (direct) throw systemError('EINVAL');
    });
    await createSlotFiles(laneOn(refusing), SMALL_RING);
    await recover(disk);
  });

  it('gives names that parse back, and takes no other name for a slot file', () => {
    assert.equal(slotFileName(0, 1), 'lane-000-slot-001.wal');
    assert.deepEqual(parseSlotFileName(slotFileName(12, 63)), { lane: 12, slotIndex: 63 });
    for (const name of ['lane-000-slot-001.wal.tmp', 'lane-0-slot-1.wal', 'xlane-000-slot-001.wal', 'CURRENT']) {
      assert.equal(parseSlotFileName(name), undefined, name);
    }
  });
});
