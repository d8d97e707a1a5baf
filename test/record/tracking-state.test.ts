import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PUBLISHERS_MAX } from '../../src/limits/limits.ts';
import { TRACKING_ENTRY, trackingBytes, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { coalesce, TrackingState } from '../../src/record/tracking-state.ts';
import { arbitraryEntry } from '../support/tracking.ts';

const entries = fc.array(arbitraryEntry, { maxLength: 40 });

function stateOf(...groups: readonly TrackingEntry[][]): TrackingState {
  const state = new TrackingState();
  for (const group of groups) state.apply(group);
  return state;
}

function contentOf(state: TrackingState): unknown {
  return [[...state.offsets].sort(), [...state.publishers]];
}

test('coalesced entries say the same on top of anything, and repeated they say it again', () => {
  fc.assert(
    fc.property(entries, entries, (before, delta) => {
      const whole = contentOf(stateOf(before, delta));
      const short = coalesce(delta);
      assert.deepEqual(contentOf(stateOf(before, short)), whole);
      assert.deepEqual(
        contentOf(stateOf(before, coalesce([...coalesce(delta.slice(0, 7)), ...delta.slice(7)]))),
        whole,
      );
    }),
    { numRuns: 2_000 },
  );
});

test('entries of a filling that are applied twice, as after a crash, change nothing the second time', () => {
  fc.assert(
    fc.property(entries, entries, (before, delta) => {
      const once = stateOf(before, coalesce(delta));
      const twice = stateOf(before, coalesce(delta), delta);
      assert.deepEqual(contentOf(twice), contentOf(once));
    }),
    { numRuns: 2_000 },
  );
});

test('coalesced entries name each reference once, and cut once at most', () => {
  fc.assert(
    fc.property(entries, (delta) => {
      const short = coalesce(delta);
      const names = short.map((entry) => {
        if (entry.type === TRACKING_ENTRY.cut) return 'cut';
        const isPublisher = entry.type === TRACKING_ENTRY.publisher || entry.type === TRACKING_ENTRY.publisherRemoved;
        return `${isPublisher ? 'publisher' : 'consumer'} ${entry.reference}`;
      });
      assert.equal(new Set(names).size, names.length);
      assert.ok(trackingBytes(short) <= trackingBytes(delta));
    }),
  );
});

test('a snapshot holds the whole state and replaces whatever was there', () => {
  fc.assert(
    fc.property(entries, entries, (history, other) => {
      const state = stateOf(history);
      const loaded = stateOf(other);
      loaded.replace(state.snapshot());
      assert.deepEqual(contentOf(loaded), contentOf(state));
      assert.equal(state.snapshotBytes, trackingBytes(state.snapshot()));
      assert.equal(state.isEmpty, state.snapshot().length === 0);
    }),
  );
});

test('a cut leaves no consumer and no publisher beyond the end, and all others alone', () => {
  fc.assert(
    fc.property(entries, fc.nat({ max: 100 }), (history, nextOffset) => {
      const before = stateOf(history);
      const state = stateOf(history);
      state.cut(nextOffset);
      for (const [reference, offset] of before.offsets) {
        const expected = offset < nextOffset ? offset : nextOffset === 0 ? undefined : nextOffset - 1;
        assert.equal(state.offsets.get(reference), expected);
      }
      for (const [reference, mark] of before.publishers) {
        assert.deepEqual(state.publishers.get(reference), mark.offset < nextOffset ? mark : undefined);
      }
      assert.ok(state.offsets.size <= before.offsets.size);
    }),
  );
});

test('consumers below the log start are evicted, publishers are not', () => {
  const state = stateOf([
    { type: TRACKING_ENTRY.offset, reference: 'behind', offset: 9 },
    { type: TRACKING_ENTRY.offset, reference: 'there', offset: 10 },
    { type: TRACKING_ENTRY.publisher, reference: 'p', publishingId: 3, offset: 2 },
  ]);
  state.evictBelow(10);
  assert.deepEqual([...state.offsets], [['there', 10]]);
  assert.deepEqual([...state.publishers], [['p', { publishingId: 3, offset: 2 }]]);
});

test('with one publisher too many, the one that published least recently is forgotten', () => {
  const state = new TrackingState();
  for (let index = 0; index < PUBLISHERS_MAX; index += 1) state.published(`p${index}`, 1, index);
  state.published('p0', 2, PUBLISHERS_MAX);
  state.published('new', 1, PUBLISHERS_MAX + 1);
  assert.equal(state.publishers.size, PUBLISHERS_MAX);
  assert.ok(state.publishers.has('p0') && state.publishers.has('new') && state.publishers.has('p2'));
  assert.ok(!state.publishers.has('p1'));
  const loaded = stateOf(state.snapshot());
  loaded.published('newer', 1, PUBLISHERS_MAX + 2);
  assert.ok(!loaded.publishers.has('p2') && loaded.publishers.has('p3'));
});
