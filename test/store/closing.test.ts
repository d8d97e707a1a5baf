/** Everything that was opened is closed, whatever becomes of the rest. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeAll, closingOnFailure } from '../../src/store/closing.ts';

test('a closer that fails keeps none of the others from running, and the first error is thrown', async () => {
  const closed: string[] = [];
  const closer = (name: string, error?: Error) => async (): Promise<void> => {
    closed.push(name);
    if (error !== undefined) throw error;
  };
  const first = new Error('first');
  const closers = [closer('a'), closer('b', first), closer('c', new Error('second')), closer('d')];
  await assert.rejects(closeAll(closers), first);
  assert.deepEqual(closed, ['a', 'b', 'c', 'd']);
});

test('what was opened before a failure is closed, the latest first, and the failure is what is thrown', async () => {
  const closed: string[] = [];
  const failure = new Error('cannot open the third');
  const opening = closingOnFailure(async (opened) => {
    for (const name of ['a', 'b']) {
      opened.push(async () => {
        closed.push(name);
        throw new Error(`cannot close ${name}`);
      });
    }
    throw failure;
  });
  await assert.rejects(opening, failure);
  assert.deepEqual(closed, ['b', 'a']);
});

test('what was opened stays open when all went well', async () => {
  const answer = await closingOnFailure(async (opened) => {
    opened.push(() => assert.fail('nothing is to be closed'));
    return 'opened';
  });
  assert.equal(answer, 'opened');
});
