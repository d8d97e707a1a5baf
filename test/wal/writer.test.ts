import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { MIB, WRITE_BYTES_MAX } from '../../src/limits/limits.ts';
import { FIRST_BLOCK_POSITION, slotBase } from '../../src/ring/geometry.ts';
import { findBlocks } from '../../src/wal/scan.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { type Call, RecordingFileSystem } from '../support/recording-file-system.ts';
import {
  DIRECTORY,
  pagesOf,
  pathOfFilling,
  recover,
  recoveredText,
  slotPath,
  SMALL_RING,
  SteppedLane,
  STORE_ID,
} from '../support/stepped-lane.ts';

const IDENTITY = { lane: 0, storeId: STORE_ID };

let memory: SimulatedDisk;
let disk: RecordingFileSystem;

function useDisk(direct: boolean): void {
  memory = new SimulatedDisk({ directories: [DIRECTORY], direct });
  disk = new RecordingFileSystem(memory);
}

/** Opens a lane and forgets what opening asked of the disk. */
async function openLane(): Promise<SteppedLane> {
  const lane = await SteppedLane.open(disk);
  disk.calls.length = 0;
  return lane;
}

const writes = (): Call[] => disk.calls.filter(({ operation }) => operation === 'write');

function durableBlocks(lane: SteppedLane): number {
  return lane.producer.words.durableBlocks(lane.recovered.start.blockSequence);
}

describe('a WAL writer', () => {
  before(loadChecksum);
  beforeEach(() => {
    useDisk(true);
  });

  it('writes all closed blocks of a slot in one call', async () => {
    const lane = await openLane();
    for (const value of ['a', 'b', 'c']) lane.block(1, value);
    assert.equal(lane.writer.step(), 3 * PAGE_BYTES);
    assert.deepEqual(
      writes().map(({ path, length }) => [path, length]),
      [[slotPath(0), 3 * PAGE_BYTES]],
    );
    assert.equal(durableBlocks(lane), 3);
  });

  it('does nothing while nothing is closed', async () => {
    const lane = await openLane();
    assert.equal(lane.writer.step(), 0);
    lane.append(1, 'still open');
    assert.equal(lane.writer.step(), 0);
    assert.deepEqual(disk.calls, []);
  });

  it('leaves in the file what lies in the ring, with checksums that the scan accepts', async () => {
    const lane = await openLane();
    lane.batch(1, 'a', pagesOf(3, 'b'));
    lane.batch(2, 'c');
    const end = FIRST_BLOCK_POSITION + 5 * PAGE_BYTES;
    const base = slotBase(SMALL_RING, 0);
    const content = memory.contentOf(slotPath(0));
    assert.deepEqual(content.subarray(0, end), new Uint8Array(lane.ring).subarray(base, base + end));
    assert.deepEqual(
      findBlocks(content, IDENTITY).map(({ blockSequence, position, writeStart }) => [
        blockSequence,
        position,
        writeStart,
      ]),
      [
        [0, 4096, 4096],
        [1, 8192, 4096],
        [2, 20480, 20480],
      ],
    );
  });

  it('never lets a write cross from one slot into the next', async () => {
    const lane = await openLane();
    lane.block(1, 'a');
    lane.seal();
    lane.block(1, 'b');
    lane.block(1, 'c');
    assert.equal(lane.writer.step(), PAGE_BYTES);
    assert.equal(durableBlocks(lane), 1);
    assert.equal(lane.writer.step(), 2 * PAGE_BYTES);
    assert.deepEqual(
      writes().map(({ path, length }) => [path, length]),
      [
        [slotPath(0), PAGE_BYTES],
        [slotPath(1), 2 * PAGE_BYTES],
      ],
    );
  });

  it('follows a slot that filled up to its last byte', async () => {
    const lane = await openLane();
    const pages = SMALL_RING.slotBytes / PAGE_BYTES - 1;
    lane.batch(1, pagesOf(pages, 'a'), 'b');
    assert.deepEqual(
      lane.sealed.map(({ endPosition }) => endPosition),
      [SMALL_RING.slotBytes],
    );
    assert.deepEqual(
      writes().map(({ path, length }) => [path, length]),
      [
        [slotPath(0), pages * PAGE_BYTES],
        [slotPath(1), PAGE_BYTES],
      ],
    );
  });

  it('overwrites a recycled slot with the blocks of its next filling', async () => {
    const lane = await openLane();
    for (let filling = 0; filling < 7; filling += 1) {
      if (filling >= SMALL_RING.slots) lane.producer.release(filling - SMALL_RING.slots);
      lane.batch(1, `filling ${filling}`);
      lane.seal();
    }
    assert.deepEqual(
      [0, 1, 2].map((index) => findBlocks(memory.contentOf(slotPath(index)), IDENTITY)[0]?.slotSequence),
      [6, 4, 5],
    );
    assert.equal(durableBlocks(lane), 7);
  });

  it('finds the next slot though the one it finished was recycled meanwhile', async () => {
    const lane = await openLane();
    lane.batch(1, 'a');
    lane.seal();
    lane.block(1, 'b');
    lane.seal();
    lane.block(1, 'c');
    lane.seal();
    lane.producer.release(0);
    lane.block(1, 'd');
    lane.drain();
    assert.deepEqual(
      writes().map(({ path }) => path),
      [0, 1, 2, 0].map((index) => slotPath(index)),
    );
    lane.seal();
    lane.producer.release(1);
    lane.block(1, 'e');
    lane.seal();
    lane.drain();
    const settings = { flushed: { slotSequence: 1, blockSequence: 1 }, nextOffsets: new Map([[1, 2]]) };
    const { recovered, ring } = await recover(disk, settings);
    assert.deepEqual(recoveredText(ring, recovered).get(1), ['2:c', '3:d', '4:e']);
  });

  it('takes at most 8 MiB in one call, and a larger block alone', async () => {
    const geometry = { slots: 2, slotBytes: 32 * MIB };
    const lane = await SteppedLane.open(disk, { geometry });
    disk.calls.length = 0;
    const mebibyte = 'm'.repeat(MIB - PAGE_BYTES);
    for (let count = 0; count < 9; count += 1) lane.block(1, mebibyte);
    lane.block(1, 'x'.repeat(10 * MIB));
    lane.drain();
    assert.deepEqual(
      writes().map(({ length }) => length),
      [WRITE_BYTES_MAX, MIB, 10 * MIB + PAGE_BYTES],
    );
    assert.equal(durableBlocks(lane), 10);
  });

  it('serves two lanes, each in files of its own', async () => {
    const lane = await openLane();
    const other = await SteppedLane.open(disk, { lane: 1 });
    lane.writer.addLane({
      lane: 1,
      ring: other.ring,
      geometry: SMALL_RING,
      start: other.recovered.start,
      nextOffsets: new Float64Array(4),
    });
    lane.block(1, 'of lane 0');
    other.block(2, 'of lane 1');
    assert.equal(lane.writer.step(), 2 * PAGE_BYTES);
    assert.equal(durableBlocks(lane), 1);
    assert.equal(durableBlocks(other), 1);
    const { recovered, ring } = await recover(disk, { lane: 1 });
    assert.deepEqual([...recoveredText(ring, recovered)], [[2, ['0:of lane 1']]]);
  });

  it('marks every lane as failed together', async () => {
    const lane = await openLane();
    assert.equal(lane.producer.words.failed, false);
    lane.writer.fail();
    assert.equal(lane.producer.words.failed, true);
  });
});

describe('the accounting of a WAL writer', () => {
  before(loadChecksum);
  beforeEach(() => {
    useDisk(true);
  });

  it('stops at a gap before anything of the batch is written or published', async () => {
    const lane = await openLane();
    lane.batch(1, 'a', 'b');
    disk.calls.length = 0;
    lane.block(2, 'fine');
    lane.stream(1).nextOffset += 3;
    lane.block(1, 'behind a gap');
    assert.throws(
      () => lane.writer.step(),
      (error) => {
        assert.ok(isMillraceError(error, 'ERR_MILLRACE_WAL_GAP'));
        assert.deepEqual(error.details, { streamId: 1, expected: 2, found: 5 });
        return true;
      },
    );
    assert.deepEqual(writes(), []);
    assert.equal(durableBlocks(lane), 2);
  });

  it('stops when offsets repeat', async () => {
    const lane = await openLane();
    lane.batch(1, 'a', 'b');
    lane.stream(1).nextOffset = 1;
    lane.block(1, 'again');
    assert.throws(() => lane.writer.step(), { code: 'ERR_MILLRACE_WAL_GAP' });
    assert.equal(durableBlocks(lane), 2);
  });

  it('goes on from the offsets that recovery hands it', async () => {
    const first = await openLane();
    first.batch(1, 'a', 'b', 'c');
    const second = await SteppedLane.open(disk);
    second.batch(1, 'd');
    const { recovered, ring } = await recover(disk);
    assert.deepEqual(recoveredText(ring, recovered).get(1), ['0:a', '1:b', '2:c', '3:d']);
  });

  it('counts streams with ids far beyond those it knew', async () => {
    const lane = await openLane();
    lane.batch(100_000, 'a', 'b');
    lane.batch(3, 'c');
    assert.equal(durableBlocks(lane), 3);
  });
});

describe('a failing disk', () => {
  before(loadChecksum);
  beforeEach(() => {
    useDisk(true);
  });

  interface Failure {
    readonly name: string;
    readonly direct: boolean;
    readonly fail: () => void;
    readonly code: string;
  }
  const throwing = (operation: 'write' | 'sync', code: string) => (): void => {
    disk.on(operation, () => {
      throw systemError(code);
    });
  };
  const failures: Failure[] = [
    { name: 'EIO on write', direct: true, fail: throwing('write', 'EIO'), code: 'ERR_MILLRACE_WRITE_FAILED' },
    { name: 'ENOSPC on write', direct: true, fail: throwing('write', 'ENOSPC'), code: 'ERR_MILLRACE_DISK_FULL' },
    { name: 'EDQUOT on write', direct: false, fail: throwing('write', 'EDQUOT'), code: 'ERR_MILLRACE_DISK_FULL' },
    { name: 'EIO on sync', direct: false, fail: throwing('sync', 'EIO'), code: 'ERR_MILLRACE_WRITE_FAILED' },
    { name: 'ENOSPC on sync', direct: false, fail: throwing('sync', 'ENOSPC'), code: 'ERR_MILLRACE_DISK_FULL' },
    {
      name: 'a short write without an error',
      direct: true,
      fail: () => {
        disk.on('write', () => PAGE_BYTES);
      },
      code: 'ERR_MILLRACE_DISK_FULL',
    },
  ];

  for (const { name, direct, fail, code } of failures) {
    it(`stops the lane for good: ${name}`, async () => {
      useDisk(direct);
      const lane = await openLane();
      lane.batch(1, 'kept');
      lane.block(1, 'lost');
      lane.block(1, 'lost too');
      disk.calls.length = 0;
      fail();
      assert.throws(
        () => lane.writer.step(),
        (error) => {
          assert.ok(isMillraceError(error, code as never), String(error));
          assert.match(error.message, /slot-000\.wal/);
          assert.match(error.message, /open the store again/);
          assert.equal(error.details['file'], slotPath(0));
          return true;
        },
      );
      assert.equal(durableBlocks(lane), 1, 'nothing of the failed write is published');
      assert.ok(disk.count('write') === 1 && disk.count('sync') <= 1, 'nothing is tried again');
      disk.off('write');
      disk.off('sync');
      disk.calls.length = 0;
      assert.throws(() => lane.writer.step(), { code }, 'the lane stays dead when the disk works again');
      assert.deepEqual(disk.calls, [], 'neither written nor synced again');
      assert.equal(durableBlocks(lane), 1);
    });
  }

  it('stops the other lanes with the first', async () => {
    const lane = await openLane();
    const other = await SteppedLane.open(disk, { lane: 1 });
    const start = other.recovered.start;
    lane.writer.addLane({ lane: 1, ring: other.ring, geometry: SMALL_RING, start, nextOffsets: new Float64Array(4) });
    lane.block(1, 'a');
    other.block(1, 'b');
    disk.on('write', ({ path }) => {
      if (path === slotPath(0)) throw systemError('EIO');
    });
    assert.throws(() => lane.writer.step(), { code: 'ERR_MILLRACE_WRITE_FAILED' });
    assert.throws(() => lane.writer.step(), { code: 'ERR_MILLRACE_WRITE_FAILED' });
    assert.equal(durableBlocks(other), 0);
  });

  it('comes back with everything acknowledged when the store is opened again', async () => {
    const lane = await openLane();
    lane.batch(1, 'a', 'b');
    lane.block(1, 'c');
    disk.on('write', () => {
      throw systemError('EIO');
    });
    assert.throws(() => lane.writer.step());
    disk.off('write');
    const next = await SteppedLane.open(disk);
    assert.deepEqual(recoveredText(next.ring, next.recovered).get(1), ['0:a', '1:b']);
    next.batch(1, 'c again');
    const { recovered, ring } = await recover(disk);
    assert.deepEqual(recoveredText(ring, recovered).get(1), ['0:a', '1:b', '2:c again']);
  });
});

describe('how writes become durable', () => {
  before(loadChecksum);

  it('is direct and synchronous where the file system offers it: no sync of its own', async () => {
    useDisk(true);
    const lane = await SteppedLane.open(disk);
    assert.deepEqual(memory.unsyncedPages(), []);
    lane.batch(1, 'a');
    assert.deepEqual(memory.unsyncedPages(), [], 'an acknowledged write survives a power loss');
    const opened = disk.calls.filter(({ operation, mode }) => operation === 'open' && mode?.dataSync === true);
    assert.equal(opened.length, SMALL_RING.slots);
  });

  it('is buffered with a sync after each write where direct I/O is refused at open', async () => {
    useDisk(false);
    const lane = await openLane();
    lane.batch(1, 'a');
    lane.batch(1, 'b');
    assert.deepEqual(
      disk.calls.map(({ operation }) => operation),
      ['write', 'sync', 'write', 'sync'],
    );
    assert.deepEqual(memory.unsyncedPages(), []);
  });

  it('is buffered where direct I/O is refused at the first write', async () => {
    useDisk(true);
    const direct = new Set<string>();
    await SteppedLane.open(disk);
    disk.calls.length = 0;
    disk.on('open', ({ path, mode }) => {
      if (mode?.direct === true) direct.add(path);
      else direct.delete(path);
    });
    disk.on('write', ({ path }) => {
      if (direct.has(path)) throw systemError('EINVAL');
    });
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a');
    assert.equal(disk.calls.at(-1)?.operation, 'sync');
    assert.deepEqual(memory.unsyncedPages(), []);
  });

  it('gives up with the file and the reason when opening fails for another reason', async () => {
    useDisk(true);
    await SteppedLane.open(disk);
    disk.on('open', ({ mode }) => {
      if (mode?.direct === true) throw systemError('EACCES');
    });
    await assert.rejects(SteppedLane.open(disk), (error) => {
      assert.ok(isMillraceError(error, 'ERR_MILLRACE_WRITE_FAILED'));
      assert.match(error.message, /slot-000\.wal: EACCES/);
      return true;
    });
  });

  it('leaves the files as they were: opening writes only the header page that is there', async () => {
    useDisk(true);
    const lane = await SteppedLane.open(disk);
    lane.batch(1, 'a');
    const content = memory.contentOf(pathOfFilling(0)).slice();
    await SteppedLane.open(disk);
    assert.deepEqual(memory.contentOf(pathOfFilling(0)), content);
    assert.deepEqual(
      memory.listSync(DIRECTORY).sort(),
      [0, 1, 2].map((index) => `lane-000-slot-00${index}.wal`),
    );
  });
});
