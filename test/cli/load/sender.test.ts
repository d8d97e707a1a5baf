import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite, test } from 'node:test';
import { MillraceError } from '../../../src/errors/millrace-error.ts';
import { Schedule } from '../../../src/cli/load/profile.ts';
import { type LoadRecord, Sender, type SenderOptions, type Target } from '../../../src/cli/load/sender.ts';
import { preciseNow, stampOf } from '../../../src/cli/load/stamp.ts';

const never = new AbortController().signal;

function senderTo(targets: readonly Target[], rate: number, more: Partial<SenderOptions> = {}): Sender {
  return new Sender({
    schedule: new Schedule([{ seconds: 0.1, from: rate, to: rate }]),
    targets,
    recordBytes: 64,
    batch: 1,
    keys: 0,
    maxInFlight: 1_000_000,
    ...more,
  });
}

suite('the open loop', () => {
  test('counts from when records were due, also those that a stall kept from being sent', async () => {
    const stall = 150;
    // One in flight: while the first waits, the other 99 come due. A closed loop would time each of them alone.
    let first = true;
    const sender = senderTo(
      [
        async () => {
          if (first) await sleep(stall);
          first = false;
        },
      ],
      1_000,
      { maxInFlight: 1 },
    );
    await sender.run(preciseNow(), never);
    const { latency, lateness, sent } = sender.takeCounts();
    assert.equal(sent, 100);
    // All came due within 100 ms, and none but the first could be sent before the stall was over.
    assert.ok(latency.percentiles().p50 >= stall - 60);
    assert.ok(lateness.percentiles().p50 >= stall - 60);
  });

  test('sends each record once, stamped with its time, batch by batch to each target in turn', async () => {
    const start = preciseNow();
    const calls: { target: number; records: readonly LoadRecord[] }[] = [];
    const targets = [0, 1, 2].map((target) => async (records: readonly LoadRecord[]) => {
      calls.push({ target, records });
      return Promise.resolve();
    });
    await senderTo(targets, 600, { batch: 10 }).run(start, never);
    const stamps = calls.flatMap(({ records }) => records.map(({ value }) => stampOf(value)));
    assert.equal(stamps.length, 60);
    for (const [index, stamp] of stamps.entries()) assert.ok(Math.abs(stamp - start - (index / 600) * 1_000) < 0.01);
    let index = 0;
    for (const { target, records } of calls) {
      assert.equal(target, Math.floor(index / 10) % 3);
      assert.ok(records.every(({ value }) => value.length === 64));
      index += records.length;
    }
  });

  test('keys repeat', async () => {
    const keys: (string | undefined)[] = [];
    const target: Target = (records) => Promise.resolve(keys.push(...records.map(({ key }) => key)));
    await senderTo([target], 100, { keys: 3 }).run(preciseNow(), never);
    assert.deepEqual(keys.slice(0, 5), ['key-0', 'key-1', 'key-2', 'key-0', 'key-1']);
  });

  test('refusals are counted by code and are no latency', async () => {
    let turn = 0;
    const target: Target = () => {
      turn += 1;
      if (turn % 2 === 0) return Promise.resolve();
      return Promise.reject(turn === 1 ? new Error('odd') : new MillraceError('ERR_MILLRACE_QUEUE_FULL', 'full'));
    };
    const sender = senderTo([target], 100);
    await sender.run(preciseNow(), never);
    const { failed, acknowledged, latency } = sender.takeCounts();
    assert.deepEqual(
      [...failed],
      [
        ['Error: odd', 1],
        ['ERR_MILLRACE_QUEUE_FULL', 4],
      ],
    );
    assert.deepEqual([acknowledged, latency.count], [5, 5]);
  });

  test('ends early when told to, and says what was not sent', async () => {
    const controller = new AbortController();
    const target: Target = async () => {
      controller.abort();
    };
    // One in flight: however late the loop is, it does not send all at once.
    const sender = senderTo([target], 1_000, { maxInFlight: 1 });
    await sender.run(preciseNow(), controller.signal);
    assert.ok(sender.unsent > 0 && sender.inFlight === 0);
  });
});
