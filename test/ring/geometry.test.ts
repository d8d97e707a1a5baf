import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { GIB, KIB, MIB, SLOT_BYTES_MAX } from '../../src/limits/limits.ts';
import { BLOCK_HEADER_BYTES } from '../../src/ring/block-format.ts';
import {
  allocateRing,
  blockPayloadMax,
  checkGeometry,
  CONTROL_BYTES,
  FIRST_BLOCK_POSITION,
  logPosition,
  ringPosition,
  slotBase,
  slotIndexOf,
} from '../../src/ring/geometry.ts';

const GEOMETRY = { slots: 3, slotBytes: 128 * KIB };

describe('the geometry of a ring', () => {
  it('gives each slot memory of its own, page aligned, behind the shared words', () => {
    const ring = allocateRing(GEOMETRY);
    const bases = [0, 1, 2].map((sequence) => slotBase(GEOMETRY, sequence));
    assert.deepEqual(
      bases,
      [0, 1, 2].map((slot) => CONTROL_BYTES + slot * GEOMETRY.slotBytes),
    );
    assert.ok(bases.every((base) => base % PAGE_BYTES === 0));
    assert.equal(ring.byteLength, CONTROL_BYTES + 3 * GEOMETRY.slotBytes);
  });

  it('puts filling n + K where filling n was', () => {
    for (const sequence of [0, 1, 5, 2 ** 32 + 1, 2 ** 40]) {
      assert.equal(slotIndexOf(GEOMETRY, sequence + 3), slotIndexOf(GEOMETRY, sequence));
      assert.equal(slotBase(GEOMETRY, sequence + 3), slotBase(GEOMETRY, sequence));
    }
  });

  it('leaves the largest block exactly the room of a slot', () => {
    const payload = blockPayloadMax(GEOMETRY, BLOCK_HEADER_BYTES);
    assert.equal(FIRST_BLOCK_POSITION + BLOCK_HEADER_BYTES + payload, GEOMETRY.slotBytes);
  });

  it('refuses shapes outside the limits', () => {
    const shapes = [
      { slots: 1, slotBytes: MIB },
      { slots: 65, slotBytes: MIB },
      { slots: 2.5, slotBytes: MIB },
      { slots: 2, slotBytes: 64 * KIB - 1 },
      { slots: 2, slotBytes: MIB + PAGE_BYTES },
      { slots: 2, slotBytes: SLOT_BYTES_MAX + 64 * KIB },
      { slots: 8, slotBytes: 512 * MIB },
      { slots: 2, slotBytes: NaN },
    ];
    for (const shape of shapes) assert.throws(() => checkGeometry(shape), { name: 'AssertionError' });
    checkGeometry({ slots: 2, slotBytes: SLOT_BYTES_MAX });
    checkGeometry({ slots: 64, slotBytes: (2 * GIB) / 64 });
  });
});

describe('a log position', () => {
  const sequence = fc.integer({ min: 0, max: 2 ** 24 - 1 });
  const position = fc.integer({ min: 0, max: SLOT_BYTES_MAX - 1 });

  it('orders all bytes that a lane ever wrote', () => {
    fc.assert(
      fc.property(sequence, position, sequence, position, (sequenceA, positionA, sequenceB, positionB) => {
        const left = logPosition(sequenceA, positionA);
        const right = logPosition(sequenceB, positionB);
        const order = sequenceA - sequenceB || positionA - positionB;
        assert.equal(Math.sign(left - right), Math.sign(order));
      }),
    );
  });

  it('leads back to the byte in the ring', () => {
    fc.assert(
      fc.property(sequence, fc.nat(GEOMETRY.slotBytes - 1), (filling, at) => {
        assert.equal(ringPosition(GEOMETRY, logPosition(filling, at)), slotBase(GEOMETRY, filling) + at);
      }),
    );
  });

  it('stays exact for frames, which are 8 bytes apart, eight times as long', () => {
    const last = 2 ** 27 - 1;
    const positions = [0, 8, SLOT_BYTES_MAX - 8].map((at) => logPosition(last, at));
    assert.equal(new Set(positions).size, 3);
    assert.equal(logPosition(last, SLOT_BYTES_MAX - 8) - logPosition(last, 0), SLOT_BYTES_MAX - 8);
  });
});
