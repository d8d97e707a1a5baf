import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { BLOCK_BYTES_TARGET, KIB, MIB } from '../../src/limits/limits.ts';
import { BLOCK_HEADER_BYTES, BLOCK_MAGIC, blockBytes } from '../../src/ring/block-format.ts';
import { allocateDoorbell, Doorbell } from '../../src/ring/doorbell.ts';
import {
  allocateRing,
  blockPayloadMax,
  FIRST_BLOCK_POSITION,
  logPosition,
  type RingGeometry,
  slotBase,
} from '../../src/ring/geometry.ts';
import { type LaneStart, RingProducer, type SealedSlot } from '../../src/ring/producer.ts';
import { RingConsumer } from '../support/ring-consumer.ts';

const STORE_ID = Uint8Array.from({ length: 16 }, (_, index) => index);
const SMALL = { slots: 2, slotBytes: 64 * KIB };
const SMALL_MAX = blockPayloadMax(SMALL, BLOCK_HEADER_BYTES);
const BIRTH = { slotSequence: 0, blockSequence: 0 };

interface Ring {
  readonly producer: RingProducer;
  readonly consumer: RingConsumer;
  readonly sealed: SealedSlot[];
  readonly closed: { nextBlock: number; logEnd: number }[];
}

function makeRing(geometry: RingGeometry = SMALL, start: LaneStart = BIRTH): Ring {
  const ring = allocateRing(geometry);
  const sealed: SealedSlot[] = [];
  const closed: { nextBlock: number; logEnd: number }[] = [];
  const doorbell = new Doorbell(allocateDoorbell());
  const released = start.slotSequence - 1;
  const producer = new RingProducer(ring, geometry, { lane: 3, storeId: STORE_ID }, start, released, doorbell, {
    closing: () => undefined,
    closed: (nextBlock, logEnd) => closed.push({ nextBlock, logEnd }),
    sealed: (slot) => sealed.push(slot),
  });
  producer.words.reset(start.blockSequence);
  return { producer, consumer: new RingConsumer(ring, geometry, start), sealed, closed };
}

/** Fills reserved space with `byte`; false when the ring is full. */
function write({ producer }: Ring, bytes: number, byte: number): boolean {
  const at = producer.reserve(bytes);
  if (at < 0) return false;
  producer.bytes.fill(byte, at, at + bytes);
  producer.advance(at + bytes);
  return true;
}

describe('a ring producer', () => {
  it('hides a block until it is closed, and then shows header and payload', () => {
    const ring = makeRing();
    assert.ok(write(ring, 24, 1));
    assert.ok(write(ring, 8, 2));
    assert.equal(ring.consumer.take(), undefined);
    assert.equal(ring.producer.hasOpenBlock, true);
    assert.equal(ring.producer.closeBlock(), true);
    const block = ring.consumer.take();
    assert.ok(block !== undefined);
    const { magic, version, lane, storeId, slotSequence, blockSequence, position, payloadBytes } = block.header;
    assert.deepEqual(
      { magic, version, lane, slotSequence, blockSequence, position, payloadBytes },
      {
        magic: BLOCK_MAGIC,
        version: 1,
        lane: 3,
        slotSequence: 0,
        blockSequence: 0,
        position: FIRST_BLOCK_POSITION,
        payloadBytes: 32,
      },
    );
    assert.deepEqual(storeId, STORE_ID);
    assert.deepEqual([...block.payload], [...new Array<number>(24).fill(1), ...new Array<number>(8).fill(2)]);
  });

  it('publishes no empty block, and gives its space back', () => {
    const ring = makeRing();
    const at = ring.producer.reserve(64);
    assert.equal(ring.producer.closeBlock(), false);
    assert.equal(ring.producer.closeBlock(), false);
    assert.equal(ring.producer.reserve(64), at);
    assert.equal(ring.producer.blockSequence, 0);
    assert.equal(ring.closed.length, 0);
  });

  it('closes a block when the next bytes would make it larger than its target', () => {
    const ring = makeRing({ slots: 2, slotBytes: 4 * MIB });
    const half = BLOCK_BYTES_TARGET / 2 - BLOCK_HEADER_BYTES;
    write(ring, half, 1);
    write(ring, half, 2);
    assert.equal(ring.consumer.take(), undefined);
    write(ring, half, 3);
    assert.equal(ring.consumer.take()?.payload.length, 2 * half);
  });

  it('makes a block of its own for bytes above the target, however large', () => {
    const geometry = { slots: 2, slotBytes: 4 * MIB };
    const ring = makeRing(geometry);
    const largest = blockPayloadMax(geometry, BLOCK_HEADER_BYTES);
    assert.ok(write(ring, largest, 9));
    ring.producer.closeBlock();
    assert.equal(ring.consumer.take()?.payload.length, largest);
    assert.equal(ring.producer.sealSlot()?.endPosition, geometry.slotBytes);
    assert.throws(() => ring.producer.reserve(largest + 8), { name: 'AssertionError' });
  });

  it('moves to the next slot when the current one has no room, and says where it ended', () => {
    const ring = makeRing();
    write(ring, 1000, 1);
    assert.ok(write(ring, SMALL_MAX, 2));
    assert.deepEqual(ring.sealed, [{ slotSequence: 0, endPosition: 2 * PAGE_BYTES, lastBlock: 0 }]);
    ring.producer.closeBlock();
    assert.deepEqual(
      [ring.consumer.take(), ring.consumer.take()].map((block) => block?.header.slotSequence),
      [0, 1],
    );
  });

  it('is full until the oldest filling is released, and loses nothing meanwhile', () => {
    const ring = makeRing();
    assert.ok(write(ring, SMALL_MAX, 1));
    assert.ok(write(ring, SMALL_MAX, 2));
    assert.equal(write(ring, 8, 3), false);
    assert.equal(write(ring, 8, 3), false);
    assert.equal(ring.producer.slotsInUse, 2);
    ring.producer.release(0);
    assert.equal(ring.producer.slotsInUse, 1);
    assert.equal(ring.consumer.take()?.payload[0], 1, 'released memory still holds the block');
    assert.ok(write(ring, 8, 3));
    ring.producer.closeBlock();
    assert.deepEqual(
      [ring.consumer.take(), ring.consumer.take()].map((block) => block?.payload[0]),
      [2, 3],
    );
  });

  it('releases in order, and only what is sealed', () => {
    const ring = makeRing();
    write(ring, 8, 1);
    assert.throws(() => ring.producer.release(0), { name: 'AssertionError' });
    ring.producer.sealSlot();
    ring.producer.release(0);
    assert.throws(() => ring.producer.release(0), { name: 'AssertionError' });
  });

  it('seals nothing when the filling holds nothing', () => {
    const ring = makeRing();
    assert.equal(ring.producer.sealSlot(), undefined);
    ring.producer.reserve(8);
    assert.equal(ring.producer.sealSlot(), undefined);
    assert.equal(ring.producer.slotSequence, 0);
  });

  it('starts full after a recovery that left every slot to be flushed', () => {
    const ring = allocateRing(SMALL);
    const doorbell = new Doorbell(allocateDoorbell());
    const start = { slotSequence: 6, blockSequence: 40 };
    const producer = new RingProducer(ring, SMALL, { lane: 0, storeId: STORE_ID }, start, 3, doorbell, {
      closing: () => undefined,
      closed: () => undefined,
      sealed: () => undefined,
    });
    producer.words.reset(40);
    assert.equal(producer.reserve(8), -1);
    producer.release(4);
    assert.equal(producer.reserve(8), slotBase(SMALL, 6) + FIRST_BLOCK_POSITION + BLOCK_HEADER_BYTES);
  });

  it('says before a block closes that it closes, so that the last frame can be completed', () => {
    const ring = allocateRing(SMALL);
    const doorbell = new Doorbell(allocateDoorbell());
    const producer: RingProducer = new RingProducer(ring, SMALL, { lane: 0, storeId: STORE_ID }, BIRTH, -1, doorbell, {
      closing: () => {
        producer.advance(at + 16);
      },
      closed: () => undefined,
      sealed: () => undefined,
    });
    producer.words.reset(0);
    const at = producer.reserve(16);
    producer.advance(at + 8);
    producer.closeBlock();
    assert.equal(new RingConsumer(ring, SMALL, BIRTH).take()?.payload.length, 16);
  });

  it('does not let anybody take space that was not reserved', () => {
    const { producer } = makeRing();
    const at = producer.reserve(8);
    assert.throws(() => producer.advance(at - 8), { name: 'AssertionError' });
    assert.throws(() => producer.advance(at + SMALL.slotBytes), { name: 'AssertionError' });
  });
});

type Command =
  { readonly do: 'write'; readonly bytes: number } | { readonly do: 'close' | 'seal' | 'take' | 'takeAll' | 'release' };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      bytes: fc
        .oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: SMALL_MAX / 8 }), fc.constant(SMALL_MAX / 8))
        .map((words) => words * 8),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('close' as const, 'take' as const, 'takeAll' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('seal' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const) }) },
);

/** A ring held against a plain queue of the blocks that were written. */
class Model {
  readonly ring: Ring;
  readonly #geometry: RingGeometry;
  readonly #start: LaneStart;
  #open: { bytes: number; byte: number }[] = [];
  readonly #closed: { bytes: number; byte: number }[][] = [];
  #taken: number;
  #written = 0;

  constructor(geometry: RingGeometry, start: LaneStart) {
    this.#geometry = geometry;
    this.#start = start;
    this.ring = makeRing(geometry, start);
    this.#taken = start.blockSequence;
  }

  run(step: Command): void {
    const { producer, sealed } = this.ring;
    const before = producer.blockSequence;
    if (step.do === 'write') {
      const byte = this.#written % 251;
      const taken = write(this.ring, step.bytes, byte);
      this.#noteClosed(before);
      if (taken) {
        this.#open.push({ bytes: step.bytes, byte });
        this.#written += 1;
      } else {
        assert.equal(producer.slotsInUse, this.#geometry.slots, 'only a ring without a free slot is full');
      }
    } else if (step.do === 'close') {
      producer.closeBlock();
      this.#noteClosed(before);
    } else if (step.do === 'seal') {
      producer.sealSlot();
      this.#noteClosed(before);
    } else if (step.do === 'release') {
      if (sealed[0] !== undefined && sealed[0].lastBlock < this.#taken) producer.release(sealed.shift()!.slotSequence);
    } else {
      while (this.#take() && step.do === 'takeAll');
    }
    this.#check();
  }

  #noteClosed(before: number): void {
    if (this.ring.producer.blockSequence === before) return;
    this.#closed.push(this.#open);
    this.#open = [];
  }

  #take(): boolean {
    const block = this.ring.consumer.take();
    const expected = this.#closed[this.#taken - this.#start.blockSequence];
    assert.equal(block === undefined, expected === undefined);
    if (block === undefined || expected === undefined) return false;
    const payload = Buffer.concat(expected.map(({ bytes, byte }) => Buffer.alloc(bytes, byte)));
    assert.equal(block.header.blockSequence, this.#taken);
    assert.ok(payload.equals(block.payload));
    assert.ok(block.header.position + blockBytes(payload.length) <= this.#geometry.slotBytes);
    this.#taken += 1;
    this.ring.consumer.words.publishDurable(this.#taken);
    return true;
  }

  #check(): void {
    const { producer, consumer, closed } = this.ring;
    const count = this.#start.blockSequence + this.#closed.length;
    assert.equal(producer.blockSequence, count);
    assert.equal(consumer.words.closedBlocks(this.#taken), count);
    assert.ok(producer.slotsInUse <= this.#geometry.slots);
    assert.equal(closed.length, this.#closed.length);
    const [earlier, last] = closed.slice(-2);
    if (last !== undefined && earlier !== undefined) assert.ok(last.logEnd > earlier.logEnd);
    if (last !== undefined) assert.equal(last.nextBlock, count);
    assert.ok(producer.logEnd >= logPosition(producer.slotSequence, 0));
  }
}

describe('a ring as a queue of blocks', () => {
  for (const start of [
    BIRTH,
    { slotSequence: 2 ** 14 - 3, blockSequence: 2 ** 32 - 10 },
    { slotSequence: 2 ** 20, blockSequence: 2 ** 31 - 10 },
  ]) {
    it(`gives back what was put in, from block ${start.blockSequence} on`, () => {
      fc.assert(
        fc.property(
          fc.integer({ min: 2, max: 4 }),
          fc.array(command, { minLength: 20, maxLength: 150, size: 'max' }),
          (slots, commands) => {
            const model = new Model({ slots, slotBytes: 64 * KIB }, start);
            for (const step of commands) model.run(step);
            model.run({ do: 'close' });
            model.run({ do: 'takeAll' });
          },
        ),
        { numRuns: 100, includeErrorInReport: true },
      );
    });
  }
});
