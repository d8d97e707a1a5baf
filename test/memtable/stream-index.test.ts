import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { StreamIndex } from '../../src/memtable/stream-index.ts';
import { logPosition } from '../../src/ring/geometry.ts';

interface Frame {
  readonly firstOffset: number;
  readonly position: number;
}

/** An index of `count` frames of three records each, `perSlot` in a filling. */
function indexOf(count: number, perSlot: number): { index: StreamIndex; frames: Frame[] } {
  const index = new StreamIndex(1);
  const frames = Array.from({ length: count }, (_, frame) => ({
    firstOffset: 3 * frame,
    position: logPosition(Math.floor(frame / perSlot), 4096 + 64 * (frame % perSlot)),
  }));
  for (const { firstOffset, position } of frames) index.add(firstOffset, position);
  return { index, frames };
}

describe('the index of a stream', () => {
  it('finds the frame that holds an offset, before and after frames were dropped', () => {
    for (const dropped of [-1, 0, 3]) {
      const { index, frames } = indexOf(50, 10);
      index.dropThrough(dropped);
      const left = frames.slice((dropped + 1) * 10);
      assert.equal(index.length, left.length);
      for (let offset = 0; offset < 160; offset += 1) {
        assert.equal(
          index.floor(offset),
          left.findLastIndex(({ firstOffset }) => firstOffset <= offset),
          `${offset}`,
        );
      }
    }
  });

  it('counts the frames in front of a log position', () => {
    const { index, frames } = indexOf(40, 7);
    for (const { position } of frames) {
      for (const end of [position - 1, position, position + 1]) {
        assert.equal(index.countBefore(end), frames.filter((frame) => frame.position < end).length);
      }
    }
  });

  it('keeps its answers when thousands of frames were dropped bit by bit', () => {
    const { index, frames } = indexOf(10_000, 100);
    for (let slot = 0; slot < 100; slot += 1) {
      index.dropThrough(slot);
      const left = frames.slice((slot + 1) * 100);
      assert.equal(index.length, left.length);
      if (left.length === 0) break;
      assert.equal(index.firstOffset(0), left[0]!.firstOffset);
      assert.equal(index.position(index.length - 1), left.at(-1)!.position);
    }
    index.add(30_000, logPosition(200, 4096));
    assert.equal(index.length, 1);
    assert.equal(index.floor(30_000), 0);
  });

  it('answers as an array of frames would, whatever is added, dropped and cut', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ add: fc.integer({ min: 1, max: 60 }) }),
        fc.record({ drop: fc.nat(5) }),
        fc.record({ keep: fc.double({ min: 0, max: 1, noNaN: true }) }),
      ),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(steps, (chosen) => {
        const index = new StreamIndex(1);
        let frames: Frame[] = [];
        let [offset, placed, slot] = [0, 0, 0];
        for (const step of chosen) {
          if ('add' in step) {
            for (let count = 0; count < step.add; count += 1) {
              slot = Math.floor(placed / 40);
              frames.push({ firstOffset: offset, position: logPosition(slot, 4_096 * (1 + (placed % 40))) });
              index.add(frames.at(-1)!.firstOffset, frames.at(-1)!.position);
              placed += 1;
              offset += 3;
            }
          } else if ('drop' in step) {
            index.dropThrough(slot - step.drop);
            frames = frames.filter(({ position }) => position >= logPosition(slot - step.drop + 1, 0));
          } else if (frames.length > 0) {
            const first = frames[0]!.firstOffset;
            offset = first + Math.floor(step.keep * (offset - first));
            index.truncate(offset);
            frames = frames.filter(({ firstOffset }) => firstOffset < offset);
          }
          assert.equal(index.length, frames.length);
          for (const [at, { firstOffset, position }] of frames.entries()) {
            assert.deepEqual([index.firstOffset(at), index.position(at)], [firstOffset, position]);
            assert.equal(index.floor(firstOffset), at);
            assert.equal(index.countBefore(position), at);
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  it('takes frames in the order of the log only', () => {
    const { index } = indexOf(3, 10);
    assert.throws(() => index.add(9, logPosition(0, 4096)), { name: 'AssertionError' });
  });

  it('knows no frame outside its range', () => {
    const { index } = indexOf(3, 10);
    assert.throws(() => index.position(3), { name: 'AssertionError' });
    assert.throws(() => index.firstOffset(-1), { name: 'AssertionError' });
  });

  it('forgets frames behind a truncation, and cuts the one across it', () => {
    fc.assert(
      fc.property(fc.nat(70), fc.nat(70), (first, second) => {
        const { index, frames } = indexOf(20, 6);
        index.truncate(first);
        index.truncate(second);
        const end = Math.min(first, second);
        const left = frames.filter(({ firstOffset }) => firstOffset < end);
        assert.equal(index.length, left.length);
        for (const [frame, { firstOffset }] of left.entries()) {
          const last = Math.min(firstOffset + 3, index.cutAt(frame));
          assert.equal(last, Math.min(firstOffset + 3, end));
        }
      }),
    );
  });
});
