import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { before, describe, it } from 'node:test';
import { loadChecksum } from '../../src/codec/checksum.ts';
import type { DiskCall, DiskFault } from '../../src/testing/disk/calls.ts';
import { RingSupply } from '../../src/testing/simulated-environment.ts';
import { commandFor, replay, runCampaign, workloadOf } from './campaign.ts';
import { NO_FAULT, runFaultCase } from './disk-errors.ts';
import { explore, newCounts } from './explore.ts';
import { runSharedCase } from './shared.ts';

/** An ordinary run takes a slice of it; `npm run test:faults` goes on for longer. */
const SLICE = { seed: 20_260_102, seconds: Infinity, states: 3_000 };
const CALLS_FAILED = 40;
/** What waits for nothing but the thread itself; files, timers, workers and sockets have other kinds. */
const IN_THE_LOOP = ['PROMISE', 'Immediate', 'TickObject', 'Microtask'];

const liar = ({ operation }: DiskCall): DiskFault | undefined => (operation === 'sync' ? { lie: true } : undefined);

describe('a store on a disk that loses power', () => {
  before(loadChecksum);

  it('keeps all that was acknowledged, whatever the loss leaves, also when its recovery loses power', async () => {
    const { counts, failure } = await runCampaign(SLICE);
    assert.equal(failure, undefined, failure && commandFor(failure));
    assert.ok(counts.states >= SLICE.states && counts.duringRecovery > 0 && counts.continued > 0);
    const { states, opened } = counts;
    assert.ok(opened > 0 && opened < states, `${opened} of ${states} states were opened`);
  });

  it('does the same again with the same seed and as many states, however slow the machine is', async () => {
    const traces: bigint[] = [];
    let calls = 0;
    const stalls = (): undefined => {
      calls += 1;
      if (calls % 20 === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    };
    for (const faults of [{}, { onCall: stalls }]) {
      const { counts } = await runCampaign({ seed: 12, seconds: Infinity, states: 1_000, ...faults });
      traces.push(counts.trace);
    }
    assert.ok(calls > 200);
    assert.equal(traces[0], traces[1]);
  });

  it('takes nothing from the system: no time, no chance, nothing that is waited for outside of the event loop', async (t) => {
    const asked: string[] = [];
    const ask = (what: string) => () => {
      asked.push(`${what}: ${new Error().stack}`);
      return 0;
    };
    t.mock.method(Date, 'now', ask('Date.now'));
    t.mock.method(performance, 'now', ask('performance.now'));
    t.mock.method(Math, 'random', ask('Math.random'));
    t.mock.method(crypto, 'randomFillSync', (bytes: Uint8Array) => {
      ask('randomFillSync')();
      return bytes;
    });
    syncBuiltinESMExports();
    const kinds = new Set<string>();
    const hook = createHook({ init: (_id, kind) => void kinds.add(kind) }).enable();
    const rings = new RingSupply();
    const counts = newCounts();
    const isLate = (): boolean => counts.states > 40;
    for (const seed of [5, 6]) {
      const workload = workloadOf(seed);
      await explore({ seed, workload, counts, rings, isLate });
      await runFaultCase({ seed, workload, plan: { call: 60, choice: 1, sticky: false }, rings });
      await runSharedCase({ seed, steps: 20, rings });
    }
    hook.disable();
    t.mock.restoreAll();
    syncBuiltinESMExports();
    assert.deepEqual(asked, []);
    assert.deepEqual(
      [...kinds].filter((kind) => !IN_THE_LOOP.includes(kind)),
      [],
    );
    assert.ok(counts.opened > 0 && kinds.has('PROMISE'));
  });

  it('is found to have lost something when the disk lies about syncs, by a few steps that show it again', async () => {
    const faults = { onCall: liar };
    const { failure } = await runCampaign({ seed: 1, seconds: Infinity, states: 100_000, ...faults });
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
