import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { runCampaign } from './campaign.ts';

/** Enough for every kind of moment; `npm run test:kill` goes on for longer. */
const KILLS = 24;
const SECONDS = 18;

test('a process killed at any moment loses nothing that it was told is durable', { timeout: 120_000 }, async () => {
  const descriptors = countDescriptors();
  const { kills, records } = await runCampaign({ seed: 20_260_101, seconds: SECONDS, kills: KILLS });
  assert.ok(kills >= 3, `${kills} kills`);
  assert.ok(records > 0);
  assert.ok(countDescriptors() <= descriptors + 3, 'opening after a kill leaves no descriptor behind');
});

function countDescriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}
