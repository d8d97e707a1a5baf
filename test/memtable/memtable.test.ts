/** The memtable of a lane, held against plain arrays of records. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { logPosition } from '../../src/ring/geometry.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { DIRECTORY, SMALL_RING, SteppedLane } from '../support/stepped-lane.ts';

interface Entry {
  readonly value: string;
  readonly timestamp: number;
  readonly slotSequence: number;
  readonly block: number;
}

type Step =
  | { readonly do: 'append'; readonly streamId: number; readonly bytes: number; readonly timestamp: number }
  | { readonly do: 'close' | 'write' | 'seal' | 'flush' };

/** All records of each stream, from offset 0 on, and how far they are durable and flushed. */
class Model {
  readonly lane: SteppedLane;
  readonly #streams = new Map<number, Entry[]>();
  #flushedSlot = -1;

  constructor(lane: SteppedLane) {
    this.lane = lane;
  }

  run(step: Step): void {
    const { producer, writer, memtable, sealed } = this.lane;
    if (step.do === 'append') this.#append(step.streamId, step.bytes, step.timestamp);
    else if (step.do === 'close') producer.closeBlock();
    else if (step.do === 'write') writer.step();
    else if (step.do === 'seal') producer.sealSlot();
    else if (sealed[0] !== undefined && sealed[0].lastBlock < this.#durableBlocks()) {
      this.#flushedSlot = sealed.shift()!.slotSequence;
      memtable.dropThrough(this.#flushedSlot);
      producer.release(this.#flushedSlot);
    }
  }

  #append(streamId: number, bytes: number, timestamp: number): void {
    const entries = this.#streams.get(streamId) ?? [];
    this.#streams.set(streamId, entries);
    const value = `${entries.length}.`.padEnd(bytes, '-');
    if (!this.lane.append(streamId, value, timestamp)) return;
    const { slotSequence, blockSequence: block } = this.lane.producer;
    entries.push({ value, timestamp, slotSequence, block });
  }

  #durableBlocks(): number {
    return this.lane.producer.words.durableBlocks(0);
  }

  check(): void {
    const durableBlocks = this.#durableBlocks();
    const isHeld = ({ slotSequence }: Entry): boolean => slotSequence > this.#flushedSlot;
    for (const [streamId, entries] of this.#streams) {
      const held = entries.findIndex(isHeld);
      const { memtable, durableEnd } = this.lane;
      assert.equal(memtable.firstOffset(streamId), held < 0 ? undefined : held);
      const durable = entries.findLastIndex((entry) => isHeld(entry) && entry.block < durableBlocks) + 1;
      assert.equal(memtable.durableNextOffset(streamId, durableEnd), durable === 0 ? undefined : durable);
      const first = held < 0 ? entries.length : held;
      this.#checkReads(streamId, entries, first, durable);
      this.#checkTimestamps(streamId, entries, first, durable);
      this.#checkTotals(streamId, entries, first, durable);
    }
    const streams = [...this.#streams.values()].filter((entries) => entries.some(isHeld));
    assert.equal(this.lane.memtable.streamCount, streams.length);
  }

  #checkReads(streamId: number, entries: readonly Entry[], first: number, durable: number): void {
    for (const offset of [0, first, Math.floor((first + durable) / 2), durable - 1, durable]) {
      for (const maxBytes of [1, 500, 1e9]) {
        const bytes = this.lane.memtable.read(streamId, offset, this.lane.durableEnd, maxBytes);
        if (offset >= durable || first >= durable) {
          assert.equal(bytes, undefined);
          continue;
        }
        assert.ok(bytes !== undefined);
        const batch = RecordBatch.decode(bytes, { name: 'memtable', baseOffset: 0 }, offset, Infinity);
        const from = Math.max(offset, first);
        assert.ok(batch.length > 0 && batch.firstOffset === from);
        assert.ok(batch.nextOffset <= durable);
        if (maxBytes === 1e9) assert.equal(batch.nextOffset, durable);
        for (const record of batch) {
          assert.equal(String(record.value), entries[record.offset]!.value);
          assert.equal(record.timestamp, entries[record.offset]!.timestamp);
        }
      }
    }
  }

  /** The frame found begins at or in front of the first record that is late enough, and no later one. */
  #checkTimestamps(streamId: number, entries: readonly Entry[], first: number, durable: number): void {
    for (const timestamp of [0, 50, 100, 2 ** 33]) {
      const found = this.lane.memtable.findTimestamp(streamId, timestamp, this.lane.durableEnd);
      const wanted = entries.findIndex(
        (entry, offset) => offset >= first && offset < durable && entry.timestamp >= timestamp,
      );
      if (wanted < 0) {
        assert.equal(found, undefined);
        continue;
      }
      assert.ok(found !== undefined && found <= wanted);
      assert.ok(entries.slice(found, wanted).every((entry) => entry.timestamp < timestamp));
    }
  }

  #checkTotals(streamId: number, entries: readonly Entry[], first: number, durable: number): void {
    const kept = entries.slice(first, Math.max(first, durable));
    assert.deepEqual(this.lane.memtable.totals(streamId, { nextOffset: 0, epoch: 0 }, this.lane.durableEnd), {
      records: kept.length,
      userBytes: kept.reduce((sum, { value }) => sum + value.length, 0),
    });
  }
}

const append = fc.record({
  do: fc.constant('append' as const),
  streamId: fc.integer({ min: 1, max: 5 }),
  bytes: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 30_000 })),
  timestamp: fc.oneof(fc.nat(120), fc.constantFrom(2 ** 33, 2 ** 40)),
});
const other = fc.record({
  do: fc.constantFrom('close' as const, 'close' as const, 'write' as const, 'write' as const, 'seal' as const),
});
const flush = fc.record({ do: fc.constant('flush' as const) });
const steps = fc.array(
  fc.oneof({ weight: 5, arbitrary: append }, { weight: 4, arbitrary: other }, { weight: 1, arbitrary: flush }),
  { minLength: 10, maxLength: 100, size: 'max' },
);

describe('a memtable', () => {
  before(loadChecksum);

  it('answers as arrays of records would, while blocks become durable and fillings are flushed', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const model = new Model(await SteppedLane.open(new SimulatedDisk({ directories: [DIRECTORY] })));
        for (const step of history) {
          model.run(step);
          model.check();
        }
      }),
      { numRuns: 100, includeErrorInReport: true },
    );
  });

  it('shows nothing that is not durable', async () => {
    const lane = await SteppedLane.open(new SimulatedDisk({ directories: [DIRECTORY] }));
    lane.block(1, 'closed');
    lane.append(1, 'open');
    assert.equal(lane.memtable.firstOffset(1), 0);
    assert.equal(lane.memtable.durableNextOffset(1, lane.durableEnd), undefined);
    assert.equal(lane.memtable.read(1, 0, lane.durableEnd, 1e6), undefined);
    lane.drain();
    assert.equal(lane.memtable.durableNextOffset(1, lane.durableEnd), 1);
  });

  it('copies what it gives out: a reused slot changes no batch', async () => {
    const lane = await SteppedLane.open(new SimulatedDisk({ directories: [DIRECTORY] }));
    lane.batch(1, 'first filling');
    const bytes = lane.memtable.read(1, 0, lane.durableEnd, 1e6);
    assert.ok(bytes !== undefined);
    const before = bytes.slice();
    lane.seal();
    lane.memtable.dropThrough(0);
    lane.producer.release(0);
    for (let filling = 1; filling <= SMALL_RING.slots; filling += 1) {
      lane.batch(1, 'x'.repeat(1000));
      if (filling < SMALL_RING.slots) lane.seal();
    }
    assert.deepEqual(bytes, before);
  });

  it('forgets a deleted stream, and no other', async () => {
    const lane = await SteppedLane.open(new SimulatedDisk({ directories: [DIRECTORY] }));
    lane.batch(1, 'a');
    lane.batch(2, 'b');
    lane.memtable.dropStream(1);
    assert.equal(lane.memtable.firstOffset(1), undefined);
    assert.equal(lane.memtable.durableNextOffset(1, lane.durableEnd), undefined);
    assert.equal(lane.memtable.findTimestamp(1, 0, lane.durableEnd), undefined);
    assert.equal(lane.memtable.firstOffset(2), 0);
    lane.seal();
    lane.memtable.dropThrough(0);
    assert.equal(lane.memtable.streamCount, 0);
  });

  it('keeps what a stream appends after a truncation took all it had, while older fillings are flushed', async () => {
    const { memtable } = await SteppedLane.open(new SimulatedDisk({ directories: [DIRECTORY] }));
    memtable.add(1, 0, logPosition(0, 4_096));
    memtable.add(1, 1, logPosition(1, 4_096));
    memtable.truncate(1, 0, logPosition(1, 8_192));
    memtable.dropThrough(0);
    assert.equal(memtable.firstOffset(1), undefined);
    memtable.add(1, 0, logPosition(1, 12_288));
    memtable.add(1, 1, logPosition(2, 4_096));
    memtable.dropThrough(1);
    assert.equal(memtable.firstOffset(1), 1);
  });

  it('ends where a truncation says, and knows of it until the last one of the stream is flushed', async () => {
    const { memtable } = await SteppedLane.open(new SimulatedDisk({ directories: [DIRECTORY] }));
    assert.equal(memtable.hasTruncations(), false);
    memtable.truncate(1, 2, logPosition(0, 4_096));
    memtable.truncate(1, 1, logPosition(1, 4_096));
    assert.ok(memtable.hasTruncations(1));
    assert.equal(memtable.hasTruncations(2), false);
    memtable.dropThrough(0);
    assert.ok(memtable.hasTruncations(1) && memtable.hasTruncations());
    memtable.dropThrough(1);
    assert.equal(memtable.hasTruncations(1) || memtable.hasTruncations(), false);
    memtable.truncate(1, 1, logPosition(2, 4_096));
    memtable.dropStream(1);
    assert.equal(memtable.hasTruncations(), false);
  });

  it('ends a durable frame where a truncation cut it', async () => {
    const lane = await SteppedLane.open(new SimulatedDisk({ directories: [DIRECTORY] }));
    lane.batch(1, 'a', 'b', 'c');
    lane.memtable.truncate(1, 2, lane.durableEnd);
    assert.equal(lane.memtable.durableNextOffset(1, lane.durableEnd), 2);
  });

  it('cuts the frame that a truncation ends in', async () => {
    const lane = await SteppedLane.open(new SimulatedDisk({ directories: [DIRECTORY] }));
    for (const value of ['a', 'bb', 'ccc']) lane.append(1, value);
    lane.producer.closeBlock();
    lane.drain();
    lane.memtable.truncate(1, 2, lane.durableEnd);
    const bytes = lane.memtable.read(1, 0, lane.durableEnd, 1e6);
    assert.ok(bytes !== undefined);
    const batch = RecordBatch.decode(bytes, { name: 'memtable', baseOffset: 0 }, 0, Infinity);
    assert.deepEqual(
      [...batch].map(({ value }) => String(value)),
      ['a', 'bb'],
    );
    assert.deepEqual(lane.memtable.totals(1, { nextOffset: 0, epoch: 0 }, lane.durableEnd), {
      records: 2,
      userBytes: 3,
    });
  });
});
