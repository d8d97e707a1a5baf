/** Operations that fail in processes at work; `npm run test:kill -- --faults` fails one after the other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whyNoShim } from '../support/fault-shim.ts';
import { FAULT_KINDS, runFaultCampaign } from './fault-campaign.ts';

/** Behind the birth of a store, which `test/store/fail-stop.test.ts` fails at each step. */
const FROM = 40;
const SECONDS = 5;

const skip = whyNoShim() ?? false;

test(
  'a process whose disk fails stops, keeps reading, and leaves all that it was told',
  { skip, timeout: 120_000 },
  async () => {
    const options = { seed: 20_260_103, seconds: SECONDS, from: FROM, faults: FAULT_KINDS.length };
    const { faults, records } = await runFaultCampaign(options);
    assert.ok(faults > 0, 'an operation has failed');
    assert.ok(records > 0);
  },
);
