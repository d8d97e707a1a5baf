/** A store that can no longer see what others commit says so. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Signal } from '../../src/base/signal.ts';
import { Refreshing } from '../../src/store/refreshing.ts';

test('how streams are configured is looked up now and then', async () => {
  let looks = 0;
  const refreshing = new Refreshing({ refresh: () => Promise.resolve() }, new Signal(), async () => {
    looks += 1;
  });
  for (let round = 0; round < 100; round += 1) await refreshing.round();
  assert.equal(looks, 2);
});

test('readers are told of the last of many failures in a row, woken for it, and go on after a success', async () => {
  let failure: Error | undefined = new Error('unreadable');
  const refresh = async (): Promise<void> => {
    if (failure !== undefined) throw failure;
  };
  const progress = new Signal();
  const refreshing = new Refreshing({ refresh }, progress);
  for (let round = 0; round < 49; round += 1) await refreshing.round();
  refreshing.check();
  const woken = progress.wait();
  await refreshing.round();
  await woken;
  assert.throws(() => {
    refreshing.check();
  }, failure);
  failure = undefined;
  await refreshing.round();
  refreshing.check();
});
