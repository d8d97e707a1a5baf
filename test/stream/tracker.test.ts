/** One stream's tracking on the writing side, on a simulated clock. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { REFERENCES_MAX, TRACKING_FRAME_BYTES_MAX, TRACKING_RUNS_MAX } from '../../src/limits/limits.ts';
import { decodeTracking, TRACKING_ENTRY } from '../../src/record/tracking-format.ts';
import { TrackingState } from '../../src/record/tracking-state.ts';
import { SimulatedTracker } from '../support/simulated-tracker.ts';
import { coded } from '../support/test-store.ts';

/** What a crash right now would leave: the log replayed. */
function survivors({ log }: SimulatedTracker): Map<string, number> {
  const state = new TrackingState();
  for (const { entries } of log) state.apply(entries);
  return new Map(state.offsets);
}

test('stored offsets are seen at once, and gather: the last one before the interval ends is written', async () => {
  const simulation = new SimulatedTracker();
  const { tracker, log } = simulation;
  simulation.stream.userBytes = 1_000_000;
  for (const offset of [5, 9, 7]) await tracker.store('a', offset, false);
  await tracker.store('b', 1, false);
  assert.equal(tracker.offset('a'), 7);
  assert.deepEqual(
    [...tracker.offsets()],
    [
      ['a', 7],
      ['b', 1],
    ],
  );
  assert.equal(log.length, 0);
  simulation.advance(100);
  assert.equal(log.length, 1);
  assert.deepEqual(
    [...survivors(simulation)],
    [
      ['a', 7],
      ['b', 1],
    ],
  );
  assert.equal(tracker.offset('a'), 7);
});

test('with durable nothing waits, and what had gathered goes along', async () => {
  const simulation = new SimulatedTracker();
  await simulation.tracker.store('a', 1, false);
  await simulation.tracker.store('b', 2, true);
  assert.deepEqual(
    [...survivors(simulation)],
    [
      ['a', 1],
      ['b', 2],
    ],
  );
  simulation.advance(60_000);
  assert.equal(simulation.log.length, 1);
});

test('a removed reference is gone at once, for good once written, and can come back', async () => {
  const simulation = new SimulatedTracker();
  const { tracker } = simulation;
  await tracker.store('a', 1, true);
  await tracker.store('a', undefined, false);
  assert.equal(tracker.offset('a'), undefined);
  assert.deepEqual([...tracker.offsets()], []);
  assert.equal(tracker.stats().references, 0);
  simulation.advance(5_000);
  assert.deepEqual([...survivors(simulation)], []);
  await tracker.store('a', 3, true);
  assert.deepEqual([...survivors(simulation)], [['a', 3]]);
});

test('while the ring is full everything stored shares one turn, and goes in as it is when its turn comes', async () => {
  const simulation = new SimulatedTracker();
  const { tracker } = simulation;
  simulation.full = true;
  const first = tracker.store('a', 1, true);
  const second = tracker.store('b', 2, true);
  await tracker.store('a', 8, false);
  simulation.advance(20_000);
  tracker.cut(6, 0);
  assert.equal(tracker.offset('a'), 5);
  assert.equal(simulation.log.length, 0);
  assert.ok(tracker.state.isEmpty, 'the state claims nothing that is not in the log');
  simulation.drain();
  await Promise.all([first, second]);
  assert.equal(simulation.log.length, 1);
  assert.deepEqual([...survivors(simulation)].sort(), [
    ['a', 5],
    ['b', 2],
  ]);
  await tracker.store('c', 3, true);
  assert.equal(simulation.log.length, 2);
});

test('10,000 references take several frames, none larger than the smallest slot allows', async () => {
  const simulation = new SimulatedTracker();
  for (let index = 0; index < 10_000; index += 1)
    await simulation.tracker.store(`consumer number ${index}`, index, false);
  await simulation.tracker.flush();
  assert.equal(survivors(simulation).size, 10_000);
  assert.ok(simulation.log.length > 10);
  for (const { bytes } of simulation.log) assert.ok(bytes <= TRACKING_FRAME_BYTES_MAX + 64);
  assert.equal(simulation.tracker.stats().deltas, 1);
});

test('one reference too many is refused by name of the limit, and room comes back with a deletion', async () => {
  const simulation = new SimulatedTracker();
  const { tracker } = simulation;
  for (let index = 0; index < REFERENCES_MAX; index += 1) await tracker.store(`${index}`, 1, false);
  await assert.rejects(tracker.store('one more', 1, false), coded('ERR_MILLRACE_TOO_MANY_REFERENCES', '65536'));
  await tracker.store('17', 2, false);
  await tracker.store('17', undefined, false);
  await tracker.store('one more', 1, false);
  assert.equal(tracker.stats().references, REFERENCES_MAX);
  await tracker.flush();
  await assert.rejects(tracker.store('another', 1, false), coded('ERR_MILLRACE_TOO_MANY_REFERENCES'));
  assert.equal(tracker.offsets().size, REFERENCES_MAX);
});

test('references below the log start go, written or not', async () => {
  const simulation = new SimulatedTracker();
  const { tracker } = simulation;
  await tracker.store('low', 5, true);
  await tracker.store('high', 50, true);
  await tracker.store('back', 60, true);
  await tracker.store('back', 6, false);
  await tracker.store('unwritten', 7, false);
  tracker.trimmed(10);
  assert.deepEqual([...tracker.offsets()], [['high', 50]]);
  assert.equal(tracker.stats().references, 1);
  await tracker.flush();
  const replayed = new TrackingState();
  for (const { entries } of simulation.log) replayed.apply(entries);
  replayed.evictBelow(10);
  assert.deepEqual([...replayed.offsets], [['high', 50]]);
});

test('a snapshot is due once what came since the last one outweighs it', async () => {
  const { tracker } = new SimulatedTracker();
  assert.equal(tracker.takeSnapshot(), undefined);
  for (let index = 0; index < 10; index += 1) await tracker.store(`consumer ${index}`, index, true);
  assert.equal(tracker.takeSnapshot(), undefined, 'the first delta weighs as much as the state');
  await tracker.store('consumer 3', 30, true);
  const snapshot = tracker.takeSnapshot();
  assert.ok(snapshot !== undefined);
  assert.deepEqual(
    decodeTracking(snapshot)?.find((entry) => 'reference' in entry && entry.reference === 'consumer 3'),
    { type: TRACKING_ENTRY.offset, reference: 'consumer 3', offset: 30 },
  );
  assert.equal(tracker.takeSnapshot(), undefined, 'nothing came since');
  assert.equal(tracker.stats().snapshots, 1);
});

test('however little each filling adds, a snapshot comes before opening would have to read too many runs', async () => {
  const { tracker } = new SimulatedTracker();
  for (let index = 0; index < 10_000; index += 1) await tracker.store(`consumer ${index}`, index, false);
  await tracker.store('consumer 3', 1, true);
  await tracker.store('consumer 3', 2, true);
  assert.equal(tracker.takeSnapshot(), undefined);
  await tracker.store('consumer 3', 3, true);
  assert.notEqual(tracker.takeSnapshot(), undefined);
  let fillings = 0;
  do {
    await tracker.store('consumer 3', fillings, true);
    fillings += 1;
  } while (tracker.takeSnapshot() === undefined);
  assert.equal(fillings, TRACKING_RUNS_MAX);
});

test('a snapshot that sets trimmed records free is due at once, empty or not', async () => {
  const { tracker } = new SimulatedTracker();
  await tracker.store('a', 3, true);
  assert.equal(tracker.takeSnapshot(), undefined);
  tracker.trimmed(10);
  tracker.wantSnapshot();
  assert.equal(tracker.takeSnapshot()?.length, 0);
  assert.equal(tracker.takeSnapshot(), undefined);
});

test('what was there when the stream was opened counts toward the next snapshot', async () => {
  const state = new TrackingState();
  state.apply([{ type: TRACKING_ENTRY.offset, reference: 'a', offset: 1 }]);
  const { tracker } = new SimulatedTracker({}, state);
  await tracker.store('a', 2, true);
  assert.equal(tracker.takeSnapshot(), undefined);
  await tracker.store('a', 3, true);
  assert.notEqual(tracker.takeSnapshot(), undefined);
});

test('a snapshot at any moment equals the log so far, and the deltas behind it complete it', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const step = fc.oneof(
    fc.record({ do: fc.constant('store' as const), name, offset: fc.nat({ max: 99 }) }),
    fc.record({ do: fc.constant('publish' as const), name, offset: fc.nat({ max: 99 }) }),
    fc.record({ do: fc.constant('delete' as const), name }),
    fc.record({ do: fc.constant('cut' as const), offset: fc.nat({ max: 99 }) }),
    fc.record({ do: fc.constant('wait' as const), milliseconds: fc.nat({ max: 6_000 }) }),
    fc.record({ do: fc.constant('full' as const), isFull: fc.boolean() }),
    fc.constant({ do: 'seal' as const }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const simulation = new SimulatedTracker();
      const { tracker, log } = simulation;
      // The log, with what other frames say at the place where they say it.
      const truth = new TrackingState();
      let seen = 0;
      let publishingId = 0;
      const follow = (): void => {
        for (const { entries } of log.slice(seen)) truth.apply(entries);
        seen = log.length;
      };
      for (const move of steps) {
        if (move.do === 'store') void tracker.store(move.name, move.offset, false);
        else if (move.do === 'delete') void tracker.store(move.name, undefined, false);
        else if (move.do === 'wait') simulation.advance(move.milliseconds);
        else if (move.do === 'full' && move.isFull) simulation.full = true;
        else if (move.do === 'full') simulation.drain();
        follow();
        if (move.do === 'publish') {
          publishingId += 1;
          tracker.published(move.name, publishingId, move.offset);
          truth.published(move.name, publishingId, move.offset);
        } else if (move.do === 'cut') {
          tracker.cut(move.offset, 0);
          truth.cut(move.offset);
        } else if (move.do === 'seal') {
          const snapshot = tracker.takeSnapshot();
          if (snapshot === undefined) continue;
          const loaded = new TrackingState();
          loaded.replace(decodeTracking(snapshot) ?? []);
          assert.deepEqual(new Map([...loaded.offsets].sort()), new Map([...truth.offsets].sort()));
          assert.deepEqual([...loaded.publishers], [...truth.publishers]);
        }
        assert.equal(tracker.stats().references, tracker.offsets().size);
      }
      simulation.drain();
      simulation.advance(10_000);
      follow();
      assert.deepEqual([...tracker.offsets()].sort(), [...truth.offsets].sort());
    }),
    { numRuns: 500 },
  );
});
