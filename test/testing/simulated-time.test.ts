import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SimulatedTime } from '../../src/testing/simulated-time.ts';

describe('simulated time', () => {
  it('fires timers in their order, each at its moment', () => {
    const time = new SimulatedTime(1_000);
    const fired: string[] = [];
    const note = (name: string) => (): void => {
      fired.push(`${name} ${time.now()}`);
    };
    time.after(30, note('late'));
    time.after(10, note('first'));
    time.after(10, note('second'));
    time.every(20, note('again'));
    time.after(5, note('cancelled'))();
    time.advance(40);
    assert.deepEqual(fired, ['first 1010', 'second 1010', 'again 1020', 'late 1030', 'again 1040']);
    assert.equal(time.monotonic(), 40);
  });

  it('moves on to what happens once, with all that repeats on the way', () => {
    const time = new SimulatedTime(0);
    let repeated = 0;
    time.every(10, () => (repeated += 1));
    assert.ok(!time.next());
    let once = false;
    time.after(35, () => (once = true));
    assert.ok(time.next());
    assert.deepEqual([once, repeated, time.monotonic()], [true, 3, 35]);
  });

  it('passes at once as for a machine that sleeps: what repeats fires once', () => {
    const time = new SimulatedTime(0);
    let repeated = 0;
    time.every(10, () => (repeated += 1));
    time.passAtOnce(10_000);
    assert.equal(repeated, 1);
    time.advance(10);
    assert.equal(repeated, 2);
  });

  it('jumps without any timer noticing', () => {
    const time = new SimulatedTime(1_000);
    time.after(10, () => assert.fail('nothing fires'));
    time.jump(5_000_000);
    assert.deepEqual([time.now(), time.monotonic()], [5_000_000, 0]);
  });

  it('ends a wait early when it is aborted, and the waits of a process never once it has ended', async () => {
    const time = new SimulatedTime();
    const stop = new AbortController();
    const aborted = time.sleep(1_000, stop.signal);
    stop.abort();
    await aborted;
    await time.sleep(1_000, stop.signal);
    const process = time.process();
    let woken = false;
    void process.sleep(10).then(() => (woken = true));
    process.after(10, () => (woken = true));
    process.end();
    process.every(10, () => (woken = true));
    time.advance(100);
    await nextTurn();
    assert.ok(!woken);
  });
});
