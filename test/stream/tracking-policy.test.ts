/** When consumer offsets are written: simulated days of any workload, without a single real millisecond. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RecentBytes, TRACKING_SETTINGS_DEFAULT, waitBeforeDelta } from '../../src/stream/tracking-policy.ts';
import { type LoggedTracking, SimulatedTracker } from '../support/simulated-tracker.ts';

interface Phase {
  /** Bytes of user data in each tick. */
  readonly userBytes: number;
  readonly consumers: number;
  readonly tick: number;
  readonly ticks: number;
}

const phase: fc.Arbitrary<Phase> = fc.record({
  userBytes: fc.oneof(fc.constant(0), fc.nat({ max: 1_000 }), fc.nat({ max: 1_000_000 })),
  consumers: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 100, max: 400 })),
  tick: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 100, max: 10_000 })),
  ticks: fc.integer({ min: 1, max: 30 }),
});

test('for any workload, either tracking is within its budget of user bytes or the interval is at its maximum', () => {
  const settings = fc.record({
    budget: fc.double({ min: 0.001, max: 1, noNaN: true }),
    maxInterval: fc.integer({ min: 1, max: 20_000 }),
  });
  fc.assert(
    fc.property(settings, fc.array(phase, { minLength: 1, maxLength: 8 }), ({ budget, maxInterval }, phases) => {
      const simulation = new SimulatedTracker({ budget, maxInterval });
      const { stream, tracker, log } = simulation;
      let early = 0;
      let seen = 0;
      let last = -100;
      for (const { userBytes, consumers, tick, ticks } of phases) {
        for (let index = 0; index < ticks; index += 1) {
          stream.userBytes += userBytes;
          for (let name = 0; name < consumers; name += 1) void tracker.store(`consumer ${name}`, index, false);
          simulation.advance(tick);
          for (const delta of log.slice(seen)) {
            if (delta.at - last < maxInterval) early += delta.bytes;
            // What is written before the maximum is paid for by user bytes, all of it, since the start.
            assert.ok(early <= budget * stream.userBytes + 1e-6, `${early} of ${stream.userBytes}`);
            last = delta.at;
          }
          seen = log.length;
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('no stored offset waits longer than the maximum interval', () => {
  fc.assert(
    fc.property(fc.array(phase, { minLength: 1, maxLength: 8 }), (phases) => {
      const simulation = new SimulatedTracker();
      const { stream, tracker, log } = simulation;
      const since = new Map<string, number>();
      let seen = 0;
      for (const { userBytes, consumers, tick, ticks } of phases) {
        for (let index = 0; index < ticks; index += 1) {
          stream.userBytes += userBytes;
          const now = simulation.clock.monotonic();
          for (let name = 0; name < consumers; name += 1) {
            void tracker.store(`${name}`, index, false);
            if (!since.has(`${name}`)) since.set(`${name}`, now);
          }
          simulation.advance(tick);
          for (const { at, entries } of log.slice(seen)) {
            for (const entry of entries) {
              const reference = 'reference' in entry ? entry.reference : '';
              assert.ok(at - (since.get(reference) ?? NaN) <= TRACKING_SETTINGS_DEFAULT.maxInterval);
              since.delete(reference);
            }
          }
          seen = log.length;
          for (const at of since.values()) {
            assert.ok(simulation.clock.monotonic() - at <= TRACKING_SETTINGS_DEFAULT.maxInterval);
          }
        }
      }
    }),
    { numRuns: 200 },
  );
});

/** One consumer that commits all the time; returns the deltas of the last of `seconds`. */
function commitFor(
  simulation: SimulatedTracker,
  seconds: number,
  userBytesPerSecond: number,
): readonly LoggedTracking[] {
  let from = 0;
  for (let second = 0; second < seconds; second += 1) {
    from = simulation.log.length;
    for (let step = 0; step < 100; step += 1) {
      simulation.stream.userBytes += userBytesPerSecond / 100;
      void simulation.tracker.store('billing', second * 100 + step, false);
      simulation.advance(10);
    }
  }
  return simulation.log.slice(from);
}

test('the interval is 100 ms while user data flows, grows to its maximum without, and comes back', () => {
  const simulation = new SimulatedTracker();
  assert.equal(commitFor(simulation, 10, 1_000_000).length, 10);
  assert.equal(simulation.tracker.stats().interval, 100);
  assert.ok(simulation.tracker.stats().share < 0.05);

  commitFor(simulation, 600, 0);
  const { log, tracker } = simulation;
  const [before, latest] = log.slice(-2);
  assert.equal((latest?.at ?? 0) - (before?.at ?? 0), 5_000);
  assert.ok(tracker.stats().interval > 4_900 && tracker.stats().interval <= 5_000);
  assert.ok(tracker.stats().share > 0.05);

  assert.equal(commitFor(simulation, 2, 1_000_000).length, 10);
  assert.equal(tracker.stats().interval, 100);
});

test('in between, the interval is what the budget pays for', () => {
  const simulation = new SimulatedTracker();
  commitFor(simulation, 300, 1_600);
  const from = simulation.log.length;
  const { userBytes } = simulation.stream;
  commitFor(simulation, 300, 1_600);
  const deltas = simulation.log.slice(from);
  const bytes = deltas.reduce((sum, delta) => sum + delta.bytes, 0);
  const written = simulation.stream.userBytes - userBytes;
  // 1,600 B/s pay for 80 B/s of tracking, which is one delta of 80 B a second.
  assert.ok(bytes > 0.045 * written && bytes < 0.055 * written, `${bytes} of ${written}`);
  assert.ok(deltas.length > 250 && deltas.length < 350, `${deltas.length} deltas`);
});

test('a wait is decided from the interval first, then from the budget', () => {
  const settings = { budget: 0.1, maxInterval: 1_000 };
  const recent = new RecentBytes(0);
  recent.addUser(0, 1_000);
  assert.equal(waitBeforeDelta(recent, settings, 0, 0, 50), 100);
  assert.equal(waitBeforeDelta(recent, settings, 0, 40, 50), 60);
  assert.equal(waitBeforeDelta(recent, settings, 0, 100, 100), 0);
  assert.equal(waitBeforeDelta(recent, settings, 0, 100, 101), 100);
  assert.equal(waitBeforeDelta(recent, settings, 0, 950, 101), 50);
  assert.equal(waitBeforeDelta(recent, settings, 0, 1_000, 101), 0);
  recent.addTracking(0, 90);
  assert.equal(waitBeforeDelta(recent, settings, 0, 100, 11), 100);
  assert.equal(waitBeforeDelta(recent, settings, 0, 100, 10), 0);
});

test('a maximum below 100 ms is the interval', () => {
  const settings = { budget: 0.1, maxInterval: 20 };
  assert.equal(waitBeforeDelta(new RecentBytes(0), settings, 0, 0, 50), 20);
  assert.equal(waitBeforeDelta(new RecentBytes(0), settings, 0, 20, 50), 0);
});

test('past bytes fade, tracking and user bytes alike, and a clock that stands still changes nothing', () => {
  const recent = new RecentBytes(0);
  assert.equal(recent.share(0), 0);
  recent.addTracking(0, 10);
  assert.equal(recent.share(0), 1);
  recent.addUser(0, 90);
  assert.equal(recent.share(0), 0.1);
  assert.ok(Math.abs(recent.share(1_000_000) - 0.1) < 1e-9);
  recent.addUser(1_000_000, 100);
  assert.ok(recent.share(1_000_000) < 0.001);
});
