import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { SLOT_BYTES_MAX, SLOTS_MAX } from '../../src/limits/limits.ts';
import { allocateRing } from '../../src/ring/geometry.ts';
import { LaneWords, NOT_ENDED, RECYCLED, widen } from '../../src/ring/lane-words.ts';

let words: LaneWords;

describe('a counter of 32 bits', () => {
  it('widens to the next number with those low bits', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 50), fc.nat(2 ** 32 - 1), (last, step) => {
        assert.equal(widen(last, ((last + step) % 2 ** 32) | 0), last + step);
      }),
    );
  });

  it('widens at the wrap', () => {
    assert.equal(widen(2 ** 32 - 1, 0), 2 ** 32);
    assert.equal(widen(2 ** 32 - 1, 5), 2 ** 32 + 5);
    assert.equal(widen(2 ** 32 - 1, -1), 2 ** 32 - 1);
  });
});

describe('the shared words of a lane', () => {
  beforeEach(() => {
    words = new LaneWords(allocateRing({ slots: 2, slotBytes: 64 * 1024 }));
  });

  it('count on across 2^32 and far beyond', () => {
    for (const first of [0, 2 ** 31 - 2, 2 ** 32 - 2, 2 ** 40 - 2]) {
      words.reset(first);
      assert.equal(words.closedBlocks(first), first);
      for (let next = first + 1; next < first + 5; next += 1) {
        words.publishClosed(next);
        words.publishDurable(next);
        assert.equal(words.closedBlocks(first), next);
        assert.equal(words.durableBlocks(next - 1), next);
      }
    }
  });

  it('tell the end of a filling from the ends of older and younger ones', () => {
    for (const filling of [0, 1, 2 ** 14 - 1, 2 ** 14, 2 ** 32 + 3, 2 ** 40]) {
      words = new LaneWords(allocateRing({ slots: 2, slotBytes: 64 * 1024 }));
      assert.equal(words.slotEnd(1, filling), NOT_ENDED);
      words.publishSlotEnd(1, filling, 5 * PAGE_BYTES);
      assert.equal(words.slotEnd(1, filling), 5 * PAGE_BYTES);
      assert.equal(words.slotEnd(1, filling + 2), NOT_ENDED, 'the slot is being filled again');
      words.publishSlotEnd(1, filling + 2, 7 * PAGE_BYTES);
      assert.equal(words.slotEnd(1, filling), RECYCLED);
      assert.equal(words.slotEnd(1, filling + 2), 7 * PAGE_BYTES);
      assert.equal(words.slotEnd(0, filling), NOT_ENDED);
    }
  });

  it('have room for the last slot and the largest end', () => {
    words.publishSlotEnd(SLOTS_MAX - 1, 2 ** 14 - 1, SLOT_BYTES_MAX);
    assert.equal(words.slotEnd(SLOTS_MAX - 1, 2 ** 14 - 1), SLOT_BYTES_MAX);
    assert.throws(() => words.publishSlotEnd(0, 0, PAGE_BYTES + 1), { name: 'AssertionError' });
  });

  it('wake who waits for durability, and do not let anybody wait for what is durable', async () => {
    words.reset(2 ** 32 - 1);
    const waiting = words.waitDurable(2 ** 32 - 1);
    assert.ok(waiting !== undefined);
    words.publishDurable(2 ** 32);
    assert.equal(await waiting, 'ok');
    assert.equal(words.waitDurable(2 ** 32 - 1), undefined);
  });

  it('wake who waits when the worker fails', async () => {
    words.reset(7);
    assert.equal(words.failed, false);
    const waiting = words.waitDurable(7);
    words.publishFailed();
    assert.equal(await waiting, 'ok');
    assert.equal(words.failed, true);
    words.reset(7);
    assert.equal(words.failed, false);
  });
});
