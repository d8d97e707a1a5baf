import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { runCampaign } from './campaign.ts';
import { type FileSystemName, whyNoImageMounts } from './image-mounts.ts';
import { chooseWeapon, whyNoTracer } from './moment.ts';
import { WORKLOADS } from './workloads.ts';

/** Two of every workload; `npm run test:kill` goes on for longer. */
const KILLS_PER_STORE = 2;
const KILLS: number = KILLS_PER_STORE * Object.keys(WORKLOADS).length;
const SECONDS = 12;
const CUTS = 2;

test('a process killed at any moment loses nothing that it was told is durable', async (t) => {
  const { weapon, reason } = chooseWeapon();
  if (reason !== undefined) t.diagnostic(reason);
  const descriptors = countDescriptors();
  const options = { seed: 20_260_101, seconds: SECONDS, kills: KILLS, killsPerStore: KILLS_PER_STORE, weapon };
  const { kills, records } = await runCampaign(options);
  assert.ok(kills > 0);
  assert.ok(records > 0);
  assert.ok(countDescriptors() <= descriptors + 3, 'opening after a kill leaves no descriptor behind');
});

const noTracer = whyNoTracer() ?? false;

test('where there is no compiler, strace kills at an operation', { skip: noTracer }, async () => {
  const options = {
    seed: 20_260_104,
    seconds: 6,
    kills: 1,
    every: 5,
    workloads: ['groups'],
    weapon: 'strace',
  } as const;
  const { kills, atOperations } = await runCampaign(options);
  assert.equal(atOperations, kills);
});

for (const power of ['ext4', 'xfs'] satisfies FileSystemName[]) {
  const skip = whyNoImageMounts(power) ?? false;
  test(`a power cut on ${power} loses nothing that was told before it`, { skip }, async () => {
    const options = { seed: 20_260_102, seconds: 6, kills: CUTS, killsPerStore: 1, power };
    const { kills } = await runCampaign(options);
    assert.ok(kills > 0);
  });
}

function countDescriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}
