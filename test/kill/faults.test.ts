/** Operations that fail in processes at work; `npm run test:kill -- --faults` fails one after the other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import { whyNoShim } from '../support/fault-shim.ts';
import { anyFault, checkStopped, FAULT_KINDS, runFaultCampaign } from './fault-campaign.ts';

/** The births of stores have `test/store/fail-stop.test.ts`, which fails each of their steps. */
const SECONDS = 5;

test('late operations fail as often as early ones, of every kind that there is', () => {
  const random = new SeededRandom(1);
  const counts = { write: 300, sync: 40, truncate: 1 };
  const rules = Array.from({ length: 3_000 }, () => anyFault(random, counts));
  assert.deepEqual(new Set(rules.map(({ operation }) => operation)), new Set(Object.keys(counts)));
  const writes = rules.flatMap(({ operation, first }) => (operation === 'write' ? [first ?? 0] : []));
  assert.ok(writes.every((first) => first >= 1 && first <= counts.write));
  const late = writes.filter((first) => first > counts.write / 2).length / writes.length;
  assert.ok(late > 0.45 && late < 0.55, `${late}`);
});

test('a store whose log fails has to refuse appends, whoever is the first to hear of it', () => {
  const calls: Parameters<typeof checkStopped>[1] = [{ operation: 'write', path: '/wal/0/1.wal', outcome: 'EIO' }];
  const survival = { type: 'survived', errors: [], merge: 'merged', close: 'closed', descriptors: 0 } as const;
  checkStopped({ ...survival, append: 'ERR_MILLRACE_WRITE_FAILED' }, calls);
  checkStopped({ ...survival, append: 'ERR_MILLRACE_DISK_FULL' }, calls);
  for (const append of ['appended', 'ERR_MILLRACE_CLOSED']) {
    assert.throws(() => checkStopped({ ...survival, append }, calls));
  }
});

const skip = whyNoShim() ?? false;

test('a process whose disk fails stops, keeps reading, and leaves all that it was told', { skip }, async () => {
  const options = { seed: 20_260_103, seconds: SECONDS, faults: FAULT_KINDS.length };
  const { faults, records } = await runFaultCampaign(options);
  assert.ok(faults > 0, 'an operation has failed');
  assert.ok(records > 0);
});
