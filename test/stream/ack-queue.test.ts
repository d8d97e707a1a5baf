import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AckQueue } from '../../src/stream/ack-queue.ts';

const ignore = (): void => undefined;

describe('the queue of acknowledgements', () => {
  it('settles what the durable blocks carry, in order, and nothing behind', () => {
    const queue = new AckQueue();
    const settled: number[] = [];
    for (const block of [1, 2, 3]) {
      for (const entry of [0, 1]) queue.push((offset) => settled.push(offset), ignore, block * 10 + entry);
      queue.mark(block, block * 1000);
    }
    assert.equal(queue.settle(0), undefined);
    assert.equal(queue.settle(2), 2000);
    assert.deepEqual(settled, [10, 11, 20, 21]);
    assert.equal(queue.length, 2);
    assert.equal(queue.hasMarks, true);
    assert.equal(queue.settle(2), undefined);
    assert.equal(queue.settle(9), 3000);
    assert.deepEqual(settled, [10, 11, 20, 21, 30, 31]);
    assert.equal(queue.hasMarks, false);
  });

  it('leaves entries of the open block waiting', () => {
    const queue = new AckQueue();
    const settled: number[] = [];
    queue.push((offset) => settled.push(offset), ignore, 1);
    queue.mark(1, 100);
    queue.push((offset) => settled.push(offset), ignore, 2);
    assert.equal(queue.settle(5), 100);
    assert.deepEqual(settled, [1]);
    queue.mark(2, 200);
    assert.equal(queue.settle(5), 200);
    assert.deepEqual(settled, [1, 2]);
  });

  it('says how far the log is durable also for blocks that nobody waits for', () => {
    const queue = new AckQueue();
    queue.mark(1, 100);
    queue.mark(2, 200);
    assert.equal(queue.settle(1), 100);
    assert.equal(queue.settle(2), 200);
  });

  it('rejects everything that waits, published or not, and is empty then', () => {
    const queue = new AckQueue();
    const outcome: string[] = [];
    for (const offset of [0, 1, 2]) {
      queue.push(
        () => outcome.push(`resolved ${offset}`),
        (error) => outcome.push(`rejected ${offset} ${String(error)}`),
        offset,
      );
      if (offset < 2) queue.mark(offset + 1, offset);
    }
    queue.settle(1);
    queue.rejectAll('why');
    assert.deepEqual(outcome, ['resolved 0', 'rejected 1 why', 'rejected 2 why']);
    assert.equal(queue.length, 0);
    assert.equal(queue.settle(9), undefined);
  });

  it('behaves as a plain list, also when tens of thousands pass through', () => {
    const action = fc.oneof(
      fc.record({ do: fc.constant('push' as const), count: fc.oneof(fc.nat(10), fc.nat(9_000)) }),
      fc.record({ do: fc.constant('mark' as const), count: fc.constant(0) }),
      fc.record({ do: fc.constant('settle' as const), count: fc.nat(4) }),
    );
    fc.assert(
      fc.property(fc.array(action, { minLength: 5, maxLength: 40 }), (actions) => {
        const queue = new AckQueue();
        const settled: number[] = [];
        const marks: { block: number; entries: number }[] = [];
        let pushed = 0;
        let block = 0;
        let durable = 0;
        for (const { do: what, count } of actions) {
          if (what === 'push') {
            for (let entry = 0; entry < count; entry += 1)
              queue.push((offset) => settled.push(offset), ignore, pushed++);
          } else if (what === 'mark') {
            block += 1;
            marks.push({ block, entries: pushed });
            queue.mark(block, block);
          } else {
            const before = durable;
            durable = Math.min(block, durable + count);
            assert.equal(queue.settle(durable), durable === before ? undefined : durable);
          }
          const entries = marks.findLast((mark) => mark.block <= durable)?.entries ?? 0;
          assert.equal(settled.length, entries);
          assert.equal(queue.length, pushed - entries);
          assert.equal(queue.hasMarks, durable < block);
        }
        assert.ok(settled.every((offset, index) => offset === index));
      }),
      { numRuns: 60 },
    );
  });
});
