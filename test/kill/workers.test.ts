/** Workers that end in the middle of their work, and a thread that is blocked; `npm run test:kill` tries many more. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockThread, deathsAt, loseWorker } from './worker-campaign.ts';

const skip = process.platform === 'linux' ? false : 'open descriptors are counted in /proc';

/** One of each kind of worker, each in another way. */
const DEATHS = deathsAt(2).filter(
  ({ worker, job, operation, end }) =>
    (worker === 'wal' && end === 'memory') ||
    (job === 'flush' && operation === 'renameSync' && end === 'exit') ||
    (job === 'rewrite' && operation === 'writeSync' && end === 'throw'),
);

for (const death of DEATHS) {
  const { worker, job = 'its loop', end } = death;
  test(`a ${worker} worker that ends by ${end} in ${job} takes nothing with it`, { skip }, async () => {
    assert.ok(await loseWorker(death, 1), 'it has come to its end');
  });
}

test('a thread that is blocked for longer than leases last loses nothing', { skip }, async () => {
  await blockThread(1_000, 1);
});
