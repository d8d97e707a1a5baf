/** Which followed streams the memtable tells to have more, held against lists of frames. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Memtable } from '../../src/memtable/memtable.ts';
import { allocateRing, logPosition } from '../../src/ring/geometry.ts';

const GEOMETRY = { slots: 2, slotBytes: 64 * 1024 };
const STREAMS = 4;
const FRAME_BYTES = 64;

type Step =
  | { readonly do: 'frame' | 'follow' | 'leave'; readonly streamId: number }
  | { readonly do: 'durable'; readonly share: number };

const streamId = fc.integer({ min: 1, max: STREAMS });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('frame' as const), streamId }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('follow' as const), streamId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), streamId }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('durable' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
);

/** A lane whose frames all have the same size, and its followers, who look at once when they are told. */
class Model {
  readonly #followed = new Set<number>();
  readonly #memtable = new Memtable(allocateRing(GEOMETRY), GEOMETRY, this.#followed);
  readonly #frames = new Map<number, number[]>();
  #frameCount = 0;
  #durableFrames = 0;

  run(move: Step): void {
    if (move.do === 'frame') this.#add(move.streamId);
    else if (move.do === 'durable') this.#advance(move.share);
    else if (move.do === 'leave') this.#followed.delete(move.streamId);
    else {
      this.#followed.add(move.streamId);
      this.#memtable.follow(move.streamId, end(this.#durableFrames));
    }
  }

  #add(stream: number): void {
    const frames = this.#frames.get(stream) ?? [];
    this.#frames.set(stream, frames);
    this.#memtable.add(stream, frames.length, end(this.#frameCount));
    frames.push(this.#frameCount);
    this.#frameCount += 1;
  }

  #advance(share: number): void {
    const before = this.#durableFrames;
    this.#durableFrames += Math.round(share * (this.#frameCount - before));
    const told = this.#memtable.takeDurable(end(this.#durableFrames));
    const isNew = (frame: number): boolean => frame >= before && frame < this.#durableFrames;
    for (const stream of this.#followed) {
      const hasMore = (this.#frames.get(stream) ?? []).some(isNew);
      assert.equal(told.filter((each) => each === stream).length, hasMore ? 1 : 0, `stream ${stream}`);
    }
  }
}

/** Log position behind so many frames. */
function end(frames: number): number {
  return logPosition(0, 4_096 + frames * FRAME_BYTES);
}

test('a followed stream is told once of each time that more of it is durable, and of nothing else', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const model = new Model();
      for (const move of steps) model.run(move);
    }),
    { numRuns: 500 },
  );
});
