import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { loadChecksum } from '../../src/codec/checksum.ts';
import type { DiskCall, DiskFault } from '../../src/testing/disk/calls.ts';
import { RingSupply } from '../../src/testing/simulated-environment.ts';
import { commandFor, replay, runCampaign, workloadOf } from './campaign.ts';
import { NO_FAULT, runFaultCase } from './disk-errors.ts';
import { explore, newCounts } from './explore.ts';

/** An ordinary run takes a slice of it; `npm run test:faults` goes on for longer. */
const SLICE = { seed: 20_260_102, seconds: Infinity, states: 300 };
const CALLS_FAILED = 40;

const liar = ({ operation }: DiskCall): DiskFault | undefined => (operation === 'sync' ? { lie: true } : undefined);

describe('a store on a disk that loses power', () => {
  before(loadChecksum);

  it('keeps all that was acknowledged, whatever the loss leaves, also when its recovery loses power', async () => {
    const { counts, failure } = await runCampaign(SLICE);
    assert.equal(failure, undefined, failure && commandFor(failure));
    assert.ok(counts.states >= SLICE.states && counts.duringRecovery > 0 && counts.continued > 0);
    const { states, repeated } = counts;
    assert.ok(repeated > 0 && repeated < states, `${repeated} of ${states} states are the same`);
  });

  it('does the same again with the same seed', async () => {
    const traces: bigint[] = [];
    for (let run = 0; run < 2; run += 1) {
      const counts = newCounts();
      const isLate = (): boolean => counts.states > 20;
      await explore({ seed: 5, workload: workloadOf(5), counts, rings: new RingSupply(), isLate });
      traces.push(counts.trace);
    }
    assert.equal(traces[0], traces[1]);
  });

  it('is found to have lost something when the disk lies about syncs, by a few steps that show it again', async () => {
    const faults = { onCall: liar };
    const { failure } = await runCampaign({ seed: 1, seconds: Infinity, ...faults });
    assert.ok(failure !== undefined);
    assert.ok(failure.steps.length < workloadOf(failure.seed).steps.length);
    assert.ok((await replay(failure, faults)) instanceof Error);
    assert.equal(await replay(failure), undefined);
  });
});

describe('a workload that was reported wrongly', () => {
  before(loadChecksum);

  it('lets a reader beside the writer see what was there before the first change', async () => {
    const steps = [13, 15, 16, 18, 25];
    assert.deepEqual(
      steps.map((index) => workloadOf(229_383_725).steps[index]?.do),
      ['append', 'openSecond', 'crash', 'truncate', 'readBeside'],
      'the seed still draws these steps: else look for one that does',
    );
    assert.equal(await replay({ seed: 229_383_725, steps }), undefined);
  });
});

describe('a store on a disk that fails a call', () => {
  before(loadChecksum);

  it('stops or goes on, tells by a code, tries no sync again, reads on, and has all that was acknowledged', async () => {
    const seed = 11;
    const whole = workloadOf(seed);
    const workload = { ...whole, steps: whole.steps.slice(0, 12) };
    const rings = new RingSupply();
    const calls = await runFaultCase({ seed, workload, rings, plan: NO_FAULT });
    assert.ok(calls > CALLS_FAILED);
    for (let index = 0; index < CALLS_FAILED; index += 1) {
      const plan = { call: Math.floor((index * calls) / CALLS_FAILED), choice: index, sticky: index % 2 === 0 };
      await runFaultCase({ seed, workload, rings, plan });
    }
  });
});
