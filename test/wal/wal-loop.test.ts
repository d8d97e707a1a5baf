/** The life of the WAL worker, run in this thread over real files. */
import assert from 'node:assert/strict';
import { afterEach, before, beforeEach, describe, it } from 'node:test';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { Memtable } from '../../src/memtable/memtable.ts';
import { allocateDoorbell, Doorbell } from '../../src/ring/doorbell.ts';
import { allocateRing } from '../../src/ring/geometry.ts';
import { LaneWords } from '../../src/ring/lane-words.ts';
import { RingProducer } from '../../src/ring/producer.ts';
import { FrameAppender } from '../../src/stream/frame-appender.ts';
import type { WalReply, WalRequest } from '../../src/wal/messages.ts';
import { recoverLane } from '../../src/wal/recovery.ts';
import { createSlotFiles } from '../../src/wal/slot-files.ts';
import { runWal } from '../../src/wal/wal-loop.ts';
import type { LaneAssignment } from '../../src/wal/writer.ts';
import { recoveredText, SMALL_RING, STORE_ID } from '../support/stepped-lane.ts';
import { newStream } from '../support/stream-state.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';

const START = { slotSequence: 0, blockSequence: 0 };

let directory: TemporaryDirectory;
let doorbell: SharedArrayBuffer;

/** A lane with one closed block that holds `values`. */
async function laneWith(lane: number, values: readonly string[], streamId = 1): Promise<LaneAssignment> {
  await createSlotFiles(
    { fileSystem: new NodeFileSystem(), directory: directory.path, storeId: STORE_ID, lane },
    SMALL_RING,
  );
  const { ring } = await recover(lane);
  const identity = { lane, storeId: STORE_ID };
  const producer = new RingProducer(ring, SMALL_RING, identity, START, -1, new Doorbell(doorbell), {
    closing: () => {
      appender.finish();
    },
    closed: () => undefined,
    sealed: () => undefined,
  });
  producer.words.reset(0);
  const appender = new FrameAppender(ring, producer, new Memtable(ring, SMALL_RING));
  const stream = newStream(streamId);
  for (const value of values) appender.append(stream, null, value, value.length * 3, 0);
  producer.closeBlock();
  return { lane, ring, geometry: SMALL_RING, start: START, nextOffsets: new Float64Array(4) };
}

async function recover(lane: number): Promise<{ ring: SharedArrayBuffer; text: Map<number, string[]> }> {
  const ring = allocateRing(SMALL_RING);
  const recovered = await recoverLane({
    fileSystem: new NodeFileSystem(),
    directory: directory.path,
    storeId: STORE_ID,
    lane,
    geometry: SMALL_RING,
    ring,
    flushed: { slotSequence: -1, blockSequence: -1 },
    stored: () => ({ nextOffset: 0, epoch: 0 }),
    salvage: false,
  });
  return { ring, text: recoveredText(ring, recovered) };
}

/** Runs with requests that are waiting already, and answers the replies. */
async function run(lanes: readonly LaneAssignment[], requests: readonly WalRequest[]): Promise<WalReply[]> {
  const waiting = [...requests];
  const replies: WalReply[] = [];
  await runWal(
    { directory: directory.path, doorbell, lanes },
    { receive: () => waiting.shift(), send: (reply) => replies.push(reply) },
  );
  return replies;
}

describe('the WAL worker', () => {
  before(loadChecksum);
  beforeEach(() => {
    directory = temporaryDirectory();
    doorbell = allocateDoorbell();
  });
  afterEach(() => {
    directory.remove();
  });

  it('writes what is closed before it stops, and says how it writes', async () => {
    const lane = await laneWith(0, ['a', 'b']);
    const replies = await run([lane], [{ type: 'stop' }]);
    assert.deepEqual(
      replies.map(({ type }) => type),
      ['ready', 'stopped'],
    );
    assert.ok(replies[0]?.type === 'ready' && ['direct', 'buffered'].includes(replies[0].mode));
    assert.deepEqual((await recover(0)).text.get(1), ['0:a', '1:b']);
  });

  it('serves a lane that comes later', async () => {
    const first = await laneWith(0, ['a']);
    const second = await laneWith(1, ['b'], 2);
    const replies = await run([first], [{ type: 'add-lane', lane: second }, { type: 'stop' }]);
    assert.deepEqual(
      replies.map(({ type }) => type),
      ['ready', 'ready', 'stopped'],
    );
    assert.deepEqual((await recover(1)).text.get(2), ['0:b']);
  });

  it('stops when two lanes append to one stream: it does not go on where it ended', async () => {
    const first = await laneWith(0, ['a']);
    const second = await laneWith(1, ['b']);
    const replies = await run([first, second], [{ type: 'stop' }]);
    const failed = replies.at(-1);
    assert.ok(failed?.type === 'failed' && failed.error.code === 'ERR_MILLRACE_WAL_GAP');
  });

  it('says why it ends when it cannot go on, and that nothing more becomes durable', async () => {
    const lane = await laneWith(0, ['a']);
    const second = await laneWith(1, ['b']);
    new NodeFileSystem().removeSync(`${directory.path}/lane-001-slot-002.wal`);
    const replies = await run([lane, second], [{ type: 'stop' }]);
    assert.deepEqual(
      replies.map(({ type }) => type),
      ['ready', 'failed'],
    );
    const [, failed] = replies;
    assert.ok(failed?.type === 'failed' && failed.error.code === 'ERR_MILLRACE_WRITE_FAILED');
    assert.match(failed.error.message, /lane-001-slot-002\.wal/);
    assert.equal(new LaneWords(lane.ring).failed, true, 'the lane knows it, too');
  });
});
