/** A store that can no longer see what others commit says so. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refreshing } from '../../src/store/refreshing.ts';
import { Removals } from '../../src/stream/removals.ts';

test('how streams are configured is looked up now and then', async () => {
  let looks = 0;
  const coordinator = { refresh: () => Promise.resolve() };
  const refreshing = new Refreshing(coordinator, { wakeAll: () => undefined }, new Removals(), async () => {
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
  let wakes = 0;
  const wakeAll = (): void => {
    wakes += 1;
  };
  const refreshing = new Refreshing({ refresh }, { wakeAll }, new Removals());
  for (let round = 0; round < 49; round += 1) await refreshing.round();
  refreshing.check();
  assert.equal(wakes, 0);
  await refreshing.round();
  assert.equal(wakes, 1);
  assert.throws(() => {
    refreshing.check();
  }, failure);
  failure = undefined;
  await refreshing.round();
  refreshing.check();
});
