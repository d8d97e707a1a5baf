import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { runClosedLoop } from '../../bench/closed-loop.ts';
import { Producer } from '../../bench/peers/ingest.ts';
import { type PeerLog, unreadable } from '../../bench/peers/peer.ts';

suite('closed loop', () => {
  test('appends each index once, in order, with never more than the window in flight', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 60 }), async (window, count) => {
        const appended: number[] = [];
        let inFlight = 0;
        const { latencies } = await runClosedLoop({
          window,
          count,
          append: async (index) => {
            appended.push(index);
            inFlight += 1;
            assert.ok(inFlight <= window);
            await turn();
            inFlight -= 1;
          },
          timedEvery: 7,
        });
        assert.deepEqual(
          appended,
          Array.from({ length: count }, (_, index) => index),
        );
        assert.equal(latencies.length, Math.ceil(count / 7));
        assert.ok(latencies.every((latency) => latency >= 0 && latency < 60_000));
      }),
      { numRuns: 30 },
    );
  });

  test('a failed append ends the run', async () => {
    const append = async (index: number): Promise<void> => {
      if (index === 3) throw new Error('the disk is gone');
    };
    await assert.rejects(runClosedLoop({ window: 2, count: 10, append }), /the disk is gone/);
  });
});

/** A log that answers each group after a turn, or inside the call. */
function fakeLog(producer: Producer, blocking: boolean): { log: PeerLog; groups: { size: number; stream: number }[] } {
  const groups: { size: number; stream: number }[] = [];
  const log: PeerLog = {
    append: (values, firstStream) => {
      groups.push({ size: values.length, stream: firstStream });
      if (blocking) producer.answers.acknowledged(values.length);
      else void turn().then(() => producer.answers.acknowledged(values.length));
    },
    ...unreadable('the fake'),
    close: async () => undefined,
  };
  return { log, groups };
}

suite('the producer of the comparison', () => {
  const pool = Array.from({ length: 8 }, (_, index) => Buffer.from([index]));

  test('hands over exactly the records asked for, in groups no larger than their share of the window', async () => {
    for (const blocking of [true, false]) {
      for (const groups of [1, 2] as const) {
        const producer = new Producer(pool);
        const fake = fakeLog(producer, blocking);
        const limits = { window: 10, groups, streams: 3, records: 47, seconds: Infinity };
        const { records } = await producer.run(fake.log, limits);
        assert.equal(records, 47);
        assert.equal(
          fake.groups.reduce((sum, { size }) => sum + size, 0),
          47,
        );
        assert.ok(fake.groups.every(({ size }) => size <= 10 / groups));
      }
    }
  });

  test('streams take turns across groups and runs', async () => {
    const producer = new Producer(pool);
    const { log, groups } = fakeLog(producer, true);
    const limits = { window: 4, groups: 1, streams: 3, seconds: Infinity } as const;
    await producer.run(log, { ...limits, records: 5 });
    await producer.run(log, { ...limits, records: 4 });
    assert.deepEqual(
      groups.map(({ stream }) => stream),
      [0, 1, 2],
    );
  });

  test('a log that fails ends the run', async () => {
    const producer = new Producer(pool);
    const log: PeerLog = {
      append: () => {
        producer.answers.failed(new Error('no room'));
      },
      ...unreadable('the fake'),
      close: async () => undefined,
    };
    const limits = { window: 1, groups: 1, streams: 1, records: 1, seconds: Infinity } as const;
    await assert.rejects(producer.run(log, limits), /no room/);
  });
});
