import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PublisherMark } from '../../../src/record/tracking-state.ts';
import { HeldPublishers } from '../../../src/store/producers/held-publishers.ts';

test('a publisher is asked for once, by all who wait for it, who go on in the order in which they came', async () => {
  // Who comes between the answer and those who waited for it must not overtake them.
  for (let turns = 0; turns < 8; turns += 1) {
    const answers: ((mark: PublisherMark | undefined) => void)[] = [];
    const held = new HeldPublishers(() => new Promise((resolve) => answers.push(resolve)));
    const order: string[] = [];
    const wait = async (name: string): Promise<void> => {
      await held.ready('p');
      order.push(name);
    };
    const waiting = [wait('first'), wait('second')];
    answers[0]?.({ publishingId: 7, offset: 4 });
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    waiting.push(wait('third'));
    await Promise.all(waiting);
    assert.deepEqual(order, ['first', 'second', 'third'], `after ${turns} turns`);
    assert.equal(answers.length, 1);
  }
});

test('after an answer that failed, it is asked for again', async () => {
  let asked = 0;
  const held = new HeldPublishers(() => {
    asked += 1;
    return asked === 1 ? Promise.reject(new Error('gone')) : Promise.resolve({ publishingId: 7, offset: 4 });
  });
  await assert.rejects(held.ready('p'), /gone/);
  await held.ready('p');
  await held.ready('p');
  assert.equal(asked, 2);
  assert.equal(held.publisher('p')?.publishingId, 7);
});
