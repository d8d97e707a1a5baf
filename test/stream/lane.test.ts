import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { isMillraceError, MillraceError } from '../../src/errors/millrace-error.ts';
import { KEY_BYTES_MAX, MIB } from '../../src/limits/limits.ts';
import type { RecordInput } from '../../src/record/record-input.ts';
import { measureGroup } from '../../src/stream/group-size.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { DIRECTORY, recover, recoveredText } from '../support/stepped-lane.ts';
import { SteppedWal } from '../support/stepped-wal.ts';

const FAILURE = new MillraceError('ERR_MILLRACE_WRITE_FAILED', 'the disk is gone');

/** The state of a promise, without waiting for it. */
async function stateOf(promise: Promise<unknown>): Promise<string> {
  const pending = Symbol('pending');
  try {
    const first = await Promise.race([promise, Promise.resolve(pending)]);
    return first === pending ? 'pending' : 'resolved';
  } catch {
    return 'rejected';
  }
}

const line = (value: string, bytes: number): string => value.padEnd(bytes, '-');

/** Appends lines of `bytes` until one has to wait; returns the promises. */
async function fillRing(wal: SteppedWal, bytes: number): Promise<Promise<number>[]> {
  const promises: Promise<number>[] = [];
  while (wal.lane.queuedBytes === 0) {
    promises.push(wal.lane.append(wal.stream(1), line(`${promises.length}.`, bytes), null, undefined));
  }
  await wal.turn();
  return promises;
}

describe('appends to a lane', () => {
  before(loadChecksum);

  it('are acknowledged with their offsets, in order, and not before they are durable', async () => {
    const wal = await SteppedWal.open();
    const order: string[] = [];
    const promises = [1, 2, 1, 1].map(async (streamId) => {
      const offset = await wal.lane.append(wal.stream(streamId), 'x', null, undefined);
      order.push(`${streamId}:${offset}`);
    });
    await wal.turn();
    await wal.turn();
    assert.deepEqual(order, []);
    assert.equal(wal.pending, true);
    await wal.write();
    assert.deepEqual(order, ['1:0', '2:0', '1:1', '1:2']);
    assert.equal(wal.pending, false);
    await Promise.all(promises);
  });

  it('of one turn share a block, those of the next have another', async () => {
    const wal = await SteppedWal.open();
    void wal.lane.append(wal.stream(1), 'a', null, undefined);
    void wal.lane.append(wal.stream(2), 'b', null, undefined);
    await wal.turn();
    assert.equal(wal.lane.producer.blockSequence, 1);
    void wal.lane.append(wal.stream(1), 'c', null, undefined);
    await wal.turn();
    assert.equal(wal.lane.producer.blockSequence, 2);
    await wal.write();
  });

  it('carry the time of the clock where none is given', async () => {
    const wal = await SteppedWal.open();
    wal.clock.advance(500);
    void wal.lane.append(wal.stream(1), 'a', null, undefined);
    void wal.lane.appendMany(wal.stream(1), ['b', { value: 'c', timestamp: 7 }]);
    await wal.write();
    const { lane } = wal;
    assert.equal(lane.memtable.findTimestamp(1, 1_500, lane.durableEnd), 0);
    assert.equal(lane.memtable.findTimestamp(1, 1_501, lane.durableEnd), undefined);
  });

  it('survive in the files what was acknowledged', async () => {
    const fileSystem = new SimulatedDisk({ directories: [DIRECTORY] });
    const wal = await SteppedWal.open({ fileSystem });
    const acknowledged = [
      wal.lane.append(wal.stream(1), 'a', Buffer.from('key'), 5),
      wal.lane.appendMany(wal.stream(2), ['b', null, { value: 'c', key: 'k', timestamp: -1 }]),
    ];
    await wal.write();
    assert.deepEqual(await Promise.all(acknowledged), [0, 0]);
    const { recovered, ring } = await recover(fileSystem);
    assert.deepEqual(
      [...recoveredText(ring, recovered)],
      [
        [1, ['0:a']],
        [2, ['0:b', '1:null', '2:c']],
      ],
    );
  });

  it('of no records resolve with the next offset at once', async () => {
    const wal = await SteppedWal.open();
    void wal.lane.append(wal.stream(1), 'a', null, undefined);
    assert.equal(await wal.lane.appendMany(wal.stream(1), []), 1);
    await wal.write();
  });
});

describe('a refused append', () => {
  before(loadChecksum);

  const INVALID = 'ERR_MILLRACE_INVALID_ARGUMENT';
  const TOO_LARGE = 'ERR_MILLRACE_RECORD_TOO_LARGE';
  const cases: [name: string, code: string, records: RecordInput[]][] = [
    ['a value above maxRecordBytes', TOO_LARGE, ['fine', Buffer.alloc(50_001)]],
    ['text whose UTF-8 is above maxRecordBytes', TOO_LARGE, ['\u{1f600}'.repeat(12_501)]],
    ['a key and a value that are too large together', TOO_LARGE, [{ value: Buffer.alloc(49_999), key: 'kk' }]],
    ['a key above 64 KiB', TOO_LARGE, [{ value: null, key: Buffer.alloc(KEY_BYTES_MAX + 1) }]],
    ['a timestamp that is no whole number', INVALID, ['fine', { value: 'x', timestamp: 0.5 }]],
    ['a timestamp out of range', INVALID, [{ value: 'x', timestamp: 2 ** 53 }]],
    ['a timestamp that is NaN', INVALID, [{ value: 'x', timestamp: NaN }]],
    ['a value of another type', INVALID, ['fine', 5 as never]],
    ['a record without a value', INVALID, [{ key: 'k' } as never]],
    ['a key of another type', INVALID, [{ value: 'x', key: 5 as never }]],
  ];
  for (const [name, code, records] of cases) {
    it(`leaves no trace: ${name}`, async () => {
      const wal = await SteppedWal.open();
      const stream = wal.stream(1);
      assert.throws(() => wal.lane.appendMany(stream, records), { code });
      const record = records.at(-1) as RecordInput;
      if (typeof record === 'string' || record instanceof Uint8Array) {
        assert.throws(() => wal.lane.append(stream, record, null, undefined), { code });
      }
      assert.deepEqual([stream.nextOffset, stream.userBytes], [0, 0]);
      assert.equal(wal.lane.producer.hasOpenBlock, false);
      const next = wal.lane.append(stream, 'fine', null, undefined);
      await wal.write();
      assert.equal(await next, 0);
    });
  }

  it('takes text of four-byte characters up to the very limit', async () => {
    const wal = await SteppedWal.open();
    const value = '\u{1f600}'.repeat(12_500);
    const offset = wal.lane.append(wal.stream(1), value, null, undefined);
    await wal.write();
    assert.equal(await offset, 0);
    assert.equal(wal.stream(1).userBytes, 50_000);
  });

  it('takes the largest record with the largest key that fit a slot', async () => {
    const wal = await SteppedWal.open({ maxRecordBytes: 65_536 - 8_192 });
    const key = Buffer.alloc(50_000);
    const offset = wal.lane.append(wal.stream(1), Buffer.alloc(65_536 - 8_192 - key.length), key, undefined);
    await wal.write();
    assert.equal(await offset, 0);
    const tooMuch = Buffer.alloc(65_536 - 8_192 - key.length + 1);
    assert.throws(() => wal.lane.append(wal.stream(1), tooMuch, key, undefined), { code: TOO_LARGE });
  });
});

describe('a full ring', () => {
  before(loadChecksum);

  it('lets appends wait, and takes them in order once a filling is released', async () => {
    const fileSystem = new SimulatedDisk({ directories: [DIRECTORY] });
    const wal = await SteppedWal.open({ fileSystem });
    const promises = await fillRing(wal, 10_000);
    promises.push(wal.lane.append(wal.stream(2), 'of another stream', null, undefined));
    promises.push(wal.lane.append(wal.stream(1), 'last', null, undefined));
    await wal.write();
    const states = await Promise.all(promises.map(stateOf));
    assert.deepEqual(states.slice(-3), ['pending', 'pending', 'pending']);
    assert.ok(states.slice(0, -3).every((state) => state === 'resolved'));
    assert.equal(wal.pending, true);
    await wal.flush();
    assert.equal(wal.lane.queuedBytes, 0);
    await wal.write();
    const offsets = await Promise.all(promises);
    assert.deepEqual(offsets.slice(-2), [0, promises.length - 2]);
    assert.deepEqual(
      offsets.filter((_, index) => index !== promises.length - 2),
      Array.from({ length: promises.length - 1 }, (_, index) => index),
    );
    assert.equal(wal.pending, false);
  });

  it('refuses appends beyond the bytes that may wait, without spending an offset', async () => {
    const wal = await SteppedWal.open({ maxQueuedBytes: 30_000 });
    const promises = await fillRing(wal, 10_000);
    promises.push(wal.lane.append(wal.stream(1), line('', 10_000), null, undefined));
    const { nextOffset } = wal.stream(1);
    assert.throws(
      () => wal.lane.append(wal.stream(1), line('', 10_000), null, undefined),
      (error) => {
        assert.ok(isMillraceError(error, 'ERR_MILLRACE_QUEUE_FULL'));
        assert.equal(error.retryable, true);
        assert.equal(error.details['maxQueuedBytes'], 30_000);
        assert.equal(error.details['queuedBytes'], wal.lane.queuedBytes);
        return true;
      },
    );
    assert.equal(wal.stream(1).nextOffset, nextOffset);
    await wal.flush();
    await wal.write();
    assert.deepEqual(
      await Promise.all(promises),
      promises.map((_, index) => index),
    );
  });

  it('bounds also the records that hold nothing', async () => {
    const wal = await SteppedWal.open({ maxQueuedBytes: 10_000 });
    const filling = await fillRing(wal, 10_000);
    for (const promise of filling) promise.catch(() => undefined);
    const refused = (): boolean => {
      try {
        wal.lane.append(wal.stream(1), null, null, undefined).catch(() => undefined);
        return false;
      } catch (error) {
        return isMillraceError(error, 'ERR_MILLRACE_QUEUE_FULL');
      }
    };
    let taken = 0;
    while (taken < 10_000 && !refused()) taken += 1;
    assert.ok(taken < 1_000, `${taken} tombstones wait in 10,000 bytes`);
  });

  it('lets a group that is larger than the whole ring pass through it', async () => {
    const fileSystem = new SimulatedDisk({ directories: [DIRECTORY] });
    const wal = await SteppedWal.open({ fileSystem, maxQueuedBytes: MIB });
    const values = Array.from({ length: 60 }, (_, index) => line(`${index}.`, 9_000));
    const group = wal.lane.appendMany(wal.stream(1), values);
    const behind = wal.lane.append(wal.stream(1), 'behind', null, undefined);
    for (let round = 0; round < 10; round += 1) await wal.flush();
    assert.equal(await group, 0);
    assert.equal(await behind, 60);
  });

  it('keeps a waiting group as it was given, when the caller uses the array again', async () => {
    const wal = await SteppedWal.open();
    const filling = await fillRing(wal, 10_000);
    for (const promise of filling) promise.catch(() => undefined);
    const values = ['a', 'b'];
    const group = wal.lane.appendMany(wal.stream(2), values);
    values.length = 0;
    await wal.flush();
    await wal.write();
    assert.equal(await group, 0);
    assert.equal(wal.stream(2).nextOffset, 2);
  });
});

describe('a group of records', () => {
  before(loadChecksum);

  it('lies in one block whenever it fits one, wherever the slot stands', async () => {
    const geometry = { slots: 4, slotBytes: 2 * MIB };
    const value = fc.oneof(
      fc.integer({ min: 0, max: 60 }).map((length) => 'é'.repeat(length)),
      fc.integer({ min: 0, max: 20_000 }).map((length) => line('', length)),
    );
    const timestamp = fc.oneof(
      { weight: 6, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 ** 45 }) },
    );
    const group = fc.array(
      fc.record({ value, timestamp }).map((input) => (input.timestamp === undefined ? input.value : (input as never))),
      { minLength: 1, maxLength: 60, size: 'max' },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(group, { minLength: 1, maxLength: 12 }), fc.boolean(), async (groups, apart) => {
        const fileSystem = new SimulatedDisk({ directories: [DIRECTORY] });
        const wal = await SteppedWal.open({ fileSystem, geometry, maxRecordBytes: MIB });
        const context = { maxRecordBytes: MIB, now: wal.clock.now(), extensionBytes: 0 };
        for (const records of groups.filter((each) => measureGroup(each, context) <= MIB)) {
          if (wal.lane.producer.slotSequence > 2) break;
          const sequence = wal.lane.producer.blockSequence;
          const opened = wal.lane.producer.hasOpenBlock;
          void wal.lane.appendMany(wal.stream(1), records);
          const closed = wal.lane.producer.blockSequence - sequence;
          assert.ok(closed <= (opened ? 1 : 0), 'only the block in front of the group was closed');
          if (apart) await wal.turn();
        }
        await wal.write();
      }),
      { numRuns: 60, includeErrorInReport: true },
    );
  });

  it('begins in the next slot when the rest of this one has no room for all of it', async () => {
    const wal = await SteppedWal.open({ geometry: { slots: 4, slotBytes: 2 * MIB }, maxRecordBytes: MIB });
    for (let part = 0; part < 2; part += 1) {
      void wal.lane.appendMany(wal.stream(1), [line('', 800_000)]);
      await wal.turn();
    }
    const { blockSequence, slotSequence } = wal.lane.producer;
    const group = Array.from({ length: 3 }, () => line('', 200_000));
    void wal.lane.appendMany(wal.stream(1), group);
    assert.equal(wal.lane.producer.blockSequence, blockSequence, 'no block of it is closed');
    assert.equal(wal.lane.producer.slotSequence, slotSequence + 1);
    await wal.write();
  });

  it('that waited is placed whole within one turn of the event loop', async () => {
    const geometry = { slots: 2, slotBytes: 8 * MIB };
    const wal = await SteppedWal.open({ geometry, maxRecordBytes: MIB, maxQueuedBytes: 64 * MIB });
    const group = Array.from({ length: 3 }, () => line('', 200_000));
    const groups: Promise<number>[] = [];
    while (wal.lane.queuedBytes < 6 * MIB) groups.push(wal.lane.appendMany(wal.stream(1), group));
    const filled = wal.stream(1).nextOffset;
    await wal.write();
    wal.lane.release(0);
    let turns = 0;
    while (wal.lane.queuedBytes > 0) {
      assert.equal(wal.stream(1).nextOffset % group.length, 0, 'no group is split between turns');
      await wal.turn();
      turns += 1;
    }
    assert.ok(turns > 1 && wal.stream(1).nextOffset > filled, 'they were placed in several turns');
    await wal.write();
    assert.deepEqual(
      await Promise.all(groups),
      groups.map((_, index) => index * group.length),
    );
  });

  it('is moved to the next slot as a whole when this one has no room', async () => {
    const fileSystem = new SimulatedDisk({ directories: [DIRECTORY] });
    const wal = await SteppedWal.open({ fileSystem });
    void wal.lane.append(wal.stream(1), line('', 40_000), null, undefined);
    await wal.turn();
    const group = wal.lane.appendMany(wal.stream(1), [line('a', 15_000), line('b', 15_000)]);
    await wal.write();
    assert.equal(await group, 1);
    const { recovered } = await recover(fileSystem);
    assert.deepEqual(
      recovered.frames.map(({ header, slotSequence }) => [slotSequence, header.recordCount]),
      [
        [0, 1],
        [1, 2],
      ],
    );
    assert.equal(recovered.report.blocks, 2);
  });

  it('waits as a whole, and enters as a whole', async () => {
    const wal = await SteppedWal.open();
    const filling = await fillRing(wal, 10_000);
    for (const promise of filling) promise.catch(() => undefined);
    const records = [line('a', 20_000), line('b', 20_000)];
    const group = wal.lane.appendMany(wal.stream(2), records);
    assert.equal(wal.stream(2).nextOffset, 0);
    await wal.flush();
    await wal.write();
    assert.equal(await group, 0);
  });

  it('takes no more than was measured, also with timestamps far apart', async () => {
    const wal = await SteppedWal.open({ geometry: { slots: 2, slotBytes: 2 * MIB } });
    const records = Array.from({ length: 5_000 }, (_, index) => ({ value: '', timestamp: (index % 2) * 2 ** 40 }));
    const context = { maxRecordBytes: 1_000, now: 0, extensionBytes: 0 };
    const measured = measureGroup(records, context);
    assert.ok(measured < MIB);
    void wal.lane.appendMany(wal.stream(1), records);
    assert.ok(wal.lane.producer.slotUsedBytes - 4096 - 64 <= measured);
    await wal.write();
  });
});

describe('a lane that failed', () => {
  before(loadChecksum);

  it('rejects what waits for durability, for room, and all that comes', async () => {
    const wal = await SteppedWal.open();
    const promises = await fillRing(wal, 10_000);
    promises.push(wal.lane.appendMany(wal.stream(2), ['a', 'b']));
    const others = [wal.lane.barrier(), wal.lane.drained(), wal.lane.whenDurable(Infinity)];
    wal.lane.fail(FAILURE);
    const reasons = await Promise.allSettled([...promises, ...others]);
    assert.ok(reasons.every((result) => result.status === 'rejected' && result.reason === FAILURE));
    assert.throws(() => wal.lane.append(wal.stream(1), 'x', null, undefined), FAILURE);
    assert.throws(() => wal.lane.appendMany(wal.stream(1), ['x']), FAILURE);
    await assert.rejects(wal.lane.barrier(), FAILURE);
    await assert.rejects(wal.lane.whenDurable(0), FAILURE);
    assert.equal(wal.lane.failure, FAILURE);
    assert.equal(wal.lane.queuedBytes, 0);
    assert.equal(wal.pending, false);
  });

  it('keeps its first failure', async () => {
    const wal = await SteppedWal.open();
    wal.lane.fail(FAILURE);
    wal.lane.fail(new MillraceError('ERR_MILLRACE_CLOSED', 'later'));
    assert.equal(wal.lane.failure, FAILURE);
  });

  it('still reads what was durable, and releases what is flushed', async () => {
    const wal = await SteppedWal.open();
    const first = wal.lane.append(wal.stream(1), 'durable', null, undefined);
    await wal.write();
    await first;
    wal.lane.seal();
    wal.lane.append(wal.stream(1), 'lost', null, undefined).catch(() => undefined);
    wal.lane.fail(FAILURE);
    await wal.turn();
    assert.ok(wal.lane.memtable.read(1, 0, wal.lane.durableEnd, 1e6) !== undefined);
    assert.equal(wal.lane.memtable.durableNextOffset(1, wal.lane.durableEnd), 1);
    wal.lane.release(0);
    assert.equal(wal.lane.memtable.durableNextOffset(1, wal.lane.durableEnd), undefined);
  });

  it('acknowledges nothing of a write that failed', async () => {
    const fileSystem = new SimulatedDisk({ directories: [DIRECTORY] });
    const wal = await SteppedWal.open({ fileSystem });
    const promise = wal.lane.append(wal.stream(1), 'x', null, undefined);
    promise.catch(() => undefined);
    await wal.turn();
    fileSystem.onStep = () => {
      throw systemError('EIO');
    };
    assert.throws(() => wal.writer.step(), { code: 'ERR_MILLRACE_WRITE_FAILED' });
    await wal.turn();
    assert.equal(await stateOf(promise), 'pending');
    wal.writer.fail();
    wal.lane.fail(FAILURE);
    await assert.rejects(promise, FAILURE);
  });
});

describe('those who wait for a lane', () => {
  before(loadChecksum);

  it('go on when everything before them is durable', async () => {
    const wal = await SteppedWal.open();
    void wal.lane.append(wal.stream(1), 'a', null, undefined);
    const barrier = wal.lane.barrier();
    await wal.turn();
    assert.equal(await stateOf(barrier), 'pending');
    await wal.write();
    await barrier;
    await wal.lane.barrier();
    await wal.lane.drained();
  });

  it('go on behind what waits for room', async () => {
    const wal = await SteppedWal.open();
    const filling = await fillRing(wal, 10_000);
    for (const promise of filling) promise.catch(() => undefined);
    const drained = wal.lane.drained();
    const barrier = wal.lane.barrier();
    await wal.write();
    assert.deepEqual(await Promise.all([stateOf(drained), stateOf(barrier)]), ['pending', 'pending']);
    await wal.flush();
    await drained;
    assert.equal(await stateOf(barrier), 'pending');
    await wal.write();
    await barrier;
  });
});
