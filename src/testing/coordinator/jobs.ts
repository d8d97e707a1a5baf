import assert from 'node:assert/strict';
import type { Coordinator, FoundRun } from '../../coordinator/coordinator.ts';
import type { CommitJob, Job, JobOutput, JobPlan } from '../../coordinator/job.ts';
import { allRuns, commitRuns, makeStream, mergedOutput, reserveKey, sampleRun } from './samples.ts';
import { BENCH_TIMES, type Bench } from './bench.ts';
import { withCode } from '../object-store-contract.ts';
import type { TestFunctions } from '../test-functions.ts';

const conflict = withCode('ERR_MILLRACE_CONFLICT');
const lost = withCode('ERR_MILLRACE_LEASE_LOST');
const LEASE = 1000;

function planOf(inputKeys: readonly string[]): JobPlan {
  return { kind: 'merge', inputKeys, hints: { target: 100, why: 'test', force: true } };
}

/** Two streams with runs of ten records in each of `count` objects. */
async function pairs(coordinator: Coordinator, count: number): Promise<{ one: number; two: number; keys: string[] }> {
  const one = await makeStream(coordinator, 'one');
  const two = await makeStream(coordinator, 'two');
  const keys: string[] = [];
  for (let index = 0; index < count; index += 1) {
    keys.push(await commitRuns(coordinator, [sampleRun(one, index * 10, 10), sampleRun(two, index * 10, 10)]));
  }
  return { one, two, keys };
}

async function claim(coordinator: Coordinator, keys: readonly string[]): Promise<Job> {
  const job = await coordinator.claimJob('worker', planOf(keys), LEASE);
  assert.ok(job !== undefined);
  return job;
}

function commitOf(job: Job, outputs: readonly JobOutput[]): CommitJob {
  return { jobId: job.jobId, token: job.token, outputs, dropped: [] };
}

function spans(runs: readonly FoundRun[]): number[][] {
  return runs.map(({ firstOffset, endOffset }) => [firstOffset, endOffset]);
}

export function jobs(bench: () => Bench, functions: TestFunctions): void {
  const { test } = functions;
  test('are paused for all until that is changed, whoever opens the store meanwhile', async () => {
    const { coordinator, reopen } = bench();
    assert.equal(await coordinator.compactionPaused(), false);
    for (const paused of [true, true, false, false]) {
      await bench().coordinator.setCompactionPaused(paused);
      assert.equal(await bench().coordinator.compactionPaused(), paused);
      await reopen();
      assert.equal(await bench().coordinator.compactionPaused(), paused);
    }
    assert.deepEqual(await bench().coordinator.verify(), []);
  });

  claims(bench, functions);
  swaps(bench, functions);
  meanwhile(bench, functions);
  coverage(bench, functions);
}

function claims(bench: () => Bench, { test }: TestFunctions): void {
  test('a claim describes its inputs and their streams, and holds them', async () => {
    const { coordinator, clock } = bench();
    const { one, two, keys } = await pairs(coordinator, 3);
    await coordinator.trim(two, 15);
    const job = await claim(coordinator, keys.slice(0, 2));
    assert.deepEqual(
      job.inputs.map(({ key }) => key),
      keys.slice(0, 2),
    );
    assert.deepEqual(
      job.inputs.map(({ runs }) => runs.map(({ streamId }) => streamId)),
      [[one], [one, two]],
    );
    assert.deepEqual(job.hints, planOf([]).hints);
    assert.equal(job.leaseUntil, clock.now() + LEASE);
    assert.deepEqual(
      job.streams.map(({ stream, firstOffset, nextOffset }) => [stream.streamId, firstOffset, nextOffset]),
      [
        [one, 0, 30],
        [two, 15, 30],
      ],
    );
    const [described] = await coordinator.jobs();
    assert.deepEqual(described, {
      jobId: job.jobId,
      kind: 'merge',
      worker: 'worker',
      claimedAt: clock.now(),
      leaseUntil: job.leaseUntil,
      inputKeys: keys.slice(0, 2),
    });
    const free = await coordinator.listObjects({ unclaimed: true });
    assert.deepEqual(
      free.map(({ key }) => key),
      [keys[2]],
    );
  });

  test('an object is an input of one live job at most, and a claim takes all or nothing', async () => {
    const { coordinator, reopen } = bench();
    const { keys } = await pairs(coordinator, 3);
    await claim(coordinator, [keys[1]!]);
    await reopen();
    assert.equal(await bench().coordinator.claimJob('other', planOf(keys), LEASE), undefined);
    assert.ok((await bench().coordinator.claimJob('other', planOf([keys[0]!, keys[2]!]), LEASE)) !== undefined);
  });

  test('only one of many claims at the same time gets the objects', async () => {
    const { coordinator } = bench();
    const { keys } = await pairs(coordinator, 2);
    const workers = Array.from({ length: 10 }, (_, index) => coordinator.claimJob(`w${index}`, planOf(keys), LEASE));
    const won = (await Promise.all(workers)).filter((job) => job !== undefined);
    assert.equal(won.length, 1);
  });

  test('what is not committed cannot be claimed', async () => {
    const { coordinator } = bench();
    const { one, two, keys } = await pairs(coordinator, 2);
    const reserved = await reserveKey(coordinator);
    assert.equal(await coordinator.claimJob('w', planOf([keys[0]!, reserved]), LEASE), undefined);
    assert.equal(await coordinator.claimJob('w', planOf(['nothing']), LEASE), undefined);
    await coordinator.trim(one, 10);
    await coordinator.trim(two, 10);
    assert.equal(await coordinator.claimJob('w', planOf([keys[0]!]), LEASE), undefined);
    const invalid = withCode('ERR_MILLRACE_INVALID_ARGUMENT');
    await assert.rejects(coordinator.claimJob('w', planOf([]), LEASE), invalid);
    await assert.rejects(coordinator.claimJob('w', planOf([keys[1]!, keys[1]!]), LEASE), invalid);
    await assert.rejects(coordinator.claimJob('w', planOf([keys[1]!]), 0), invalid);
  });

  test('a released job frees its inputs, once', async () => {
    const { coordinator } = bench();
    const { keys } = await pairs(coordinator, 1);
    const job = await claim(coordinator, keys);
    assert.equal(await coordinator.releaseJob(job.jobId, 'not the token'), false);
    assert.equal(await coordinator.releaseJob(job.jobId, job.token), true);
    assert.equal(await coordinator.releaseJob(job.jobId, job.token), false);
    assert.equal(await coordinator.renewJob(job.jobId, job.token, LEASE), false);
    await claim(coordinator, keys);
  });

  test('a lease ends by the clock: then others may claim, and the old token is worth nothing', async () => {
    const { coordinator, clock } = bench();
    const { keys } = await pairs(coordinator, 2);
    const job = await claim(coordinator, keys);
    clock.advance(LEASE - 1);
    assert.equal(await coordinator.claimJob('other', planOf(keys), LEASE), undefined);
    assert.equal(await coordinator.renewJob(job.jobId, job.token, LEASE), true);
    clock.advance(LEASE - 1);
    assert.equal(await coordinator.claimJob('other', planOf(keys), LEASE), undefined);
    clock.advance(1);
    const output = mergedOutput(job, await reserveKey(coordinator));
    await assert.rejects(coordinator.commitJob(commitOf(job, [output])), lost);
    assert.equal(await coordinator.renewJob(job.jobId, job.token, LEASE), false);
    const next = await claim(coordinator, keys);
    await assert.rejects(coordinator.commitJob(commitOf(job, [output])), lost);
    await assert.rejects(coordinator.commitJob(commitOf({ ...next, token: job.token }, [output])), lost);
    await coordinator.commitJob(commitOf(next, [output]));
  });

  test('expired jobs are ended by the sweep', async () => {
    const { coordinator, clock } = bench();
    const { keys } = await pairs(coordinator, 1);
    await claim(coordinator, keys);
    clock.advance(LEASE);
    assert.deepEqual(await coordinator.expire(), { reservations: 0, jobs: 1, tombstones: 0 });
    assert.deepEqual(await coordinator.jobs(), []);
    assert.equal((await coordinator.listObjects({ unclaimed: true })).length, 1);
  });
}

function swaps(bench: () => Bench, { test }: TestFunctions): void {
  test('a commit swaps inputs for outputs in one step, and offsets stay what they were', async () => {
    const { coordinator, reopen } = bench();
    const { one, two, keys } = await pairs(coordinator, 4);
    const job = await claim(coordinator, keys.slice(1, 3));
    const output = mergedOutput(job, await reserveKey(coordinator));
    assert.deepEqual(await coordinator.commitJob(commitOf(job, [output])), { replayed: false });
    await reopen();
    for (const streamId of [one, two]) {
      const runs = await allRuns(bench().coordinator, streamId);
      assert.deepEqual(spans(runs), [
        [0, 10],
        [10, 30],
        [30, 40],
      ]);
      assert.deepEqual(
        runs.map(({ objectKey }) => objectKey),
        [keys[0], output.key, keys[3]],
      );
      const { records, userBytes, storedBytes } = await bench().coordinator.streamTotals(streamId);
      assert.deepEqual([records, userBytes, storedBytes], [40, 400, 400]);
    }
    assert.deepEqual(await bench().coordinator.classifyKeys([...keys, output.key]), [
      'committed',
      'deleting',
      'deleting',
      'committed',
      'committed',
    ]);
    const [, merged] = await bench().coordinator.listObjects({ state: 'committed', after: keys[0]! });
    assert.deepEqual([merged!.key, merged!.generation, merged!.jobId], [output.key, 1, undefined]);
  });

  test('a repeated commit of a job is answered and changes nothing', async () => {
    const { coordinator, clock, reopen } = bench();
    const { keys } = await pairs(coordinator, 2);
    const job = await claim(coordinator, keys);
    const commit = commitOf(job, [mergedOutput(job, await reserveKey(coordinator))]);
    await coordinator.commitJob(commit);
    await reopen();
    clock.advance(LEASE * 5);
    assert.deepEqual(await bench().coordinator.commitJob(commit), { replayed: true });
    clock.advance(BENCH_TIMES.tombstoneRetention);
    await bench().coordinator.expire();
    await assert.rejects(bench().coordinator.commitJob(commit), lost);
  });

  test('outputs may be several, and inputs not neighbours', async () => {
    const { coordinator } = bench();
    const { one, keys } = await pairs(coordinator, 5);
    const job = await claim(coordinator, [keys[0]!, keys[2]!, keys[3]!]);
    const whole = mergedOutput(job, await reserveKey(coordinator));
    const parts = [
      { ...whole, runs: whole.runs.filter(({ streamId }) => streamId === one) },
      { ...whole, key: await reserveKey(coordinator), runs: whole.runs.filter(({ streamId }) => streamId !== one) },
    ];
    await coordinator.commitJob(commitOf(job, parts));
    assert.deepEqual(spans(await allRuns(coordinator, one)), [
      [0, 10],
      [10, 20],
      [20, 40],
      [40, 50],
    ]);
  });

  test('a key compaction leaves offsets without records', async () => {
    const { coordinator } = bench();
    const { one, keys } = await pairs(coordinator, 2);
    const job = await claim(coordinator, keys);
    const output = mergedOutput(job, await reserveKey(coordinator));
    const runs = output.runs.map((run) => ({ ...run, records: 3 }));
    await coordinator.commitJob(commitOf(job, [{ ...output, runs }]));
    const { records, nextOffset } = await coordinator.streamTotals(one);
    assert.deepEqual([records, nextOffset], [3, 20]);
  });
}

function meanwhile(bench: () => Bench, { test }: TestFunctions): void {
  test('runs trimmed between claim and commit become dead bytes of the output', async () => {
    const { coordinator } = bench();
    const { one, two, keys } = await pairs(coordinator, 3);
    const job = await claim(coordinator, keys);
    await coordinator.trim(one, 15);
    await coordinator.trim(two, 30);
    const output = mergedOutput(job, await reserveKey(coordinator));
    await coordinator.commitJob(commitOf(job, [output]));
    assert.deepEqual(spans(await allRuns(coordinator, one)), [[0, 30]]);
    const totals = await coordinator.streamTotals(one);
    assert.deepEqual([totals.firstOffset, totals.records], [15, 15]);
    assert.deepEqual(await allRuns(coordinator, two), []);
    const [object] = await coordinator.listObjects({});
    assert.deepEqual([object!.liveBytes, object!.bytes], [300, 696]);
  });

  test('when all of it died meanwhile, the output is deleting at once', async () => {
    const { coordinator } = bench();
    const { one, two, keys } = await pairs(coordinator, 2);
    const job = await claim(coordinator, keys);
    const output = mergedOutput(job, await reserveKey(coordinator));
    await coordinator.deleteStream(one);
    await coordinator.trim(two, 20);
    await coordinator.commitJob(commitOf(job, [output]));
    assert.deepEqual(await coordinator.classifyKeys([output.key]), ['deleting']);
  });

  test('runs truncated between claim and commit end where the truncation says', async () => {
    const { coordinator } = bench();
    const { one, two, keys } = await pairs(coordinator, 3);
    const job = await claim(coordinator, keys);
    await coordinator.truncateStream({ streamId: one, nextOffset: 14, epoch: 1 });
    await coordinator.truncateStream({ streamId: two, nextOffset: 10, epoch: 1 });
    await commitRuns(coordinator, [sampleRun(one, 14, 3, { epoch: 1 })]);
    await coordinator.commitJob(commitOf(job, [mergedOutput(job, await reserveKey(coordinator))]));
    assert.deepEqual(spans(await allRuns(coordinator, one)), [
      [0, 14],
      [14, 17],
    ]);
    assert.deepEqual(spans(await allRuns(coordinator, two)), [[0, 10]]);
    assert.equal((await coordinator.streamTotals(one)).records, 17);
  });

  test('appends between claim and commit stay where they are', async () => {
    const { coordinator } = bench();
    const { one, keys } = await pairs(coordinator, 2);
    const job = await claim(coordinator, keys);
    await commitRuns(coordinator, [sampleRun(one, 20, 10)]);
    await coordinator.commitJob(commitOf(job, [mergedOutput(job, await reserveKey(coordinator))]));
    assert.deepEqual(spans(await allRuns(coordinator, one)), [
      [0, 20],
      [20, 30],
    ]);
  });

  test('a rewrite may leave out what lies below the log start, also inside a run', async () => {
    const { coordinator } = bench();
    const { one, keys } = await pairs(coordinator, 2);
    await coordinator.trim(one, 5);
    const job = await claim(coordinator, keys);
    const output = mergedOutput(job, await reserveKey(coordinator));
    const runs = output.runs.map((run) => (run.streamId === one ? { ...run, firstOffset: 5, records: 15 } : run));
    await coordinator.commitJob(commitOf(job, [{ ...output, runs }]));
    assert.deepEqual(spans(await allRuns(coordinator, one)), [[5, 20]]);
    assert.equal((await coordinator.streamTotals(one)).records, 15);
  });
}

function coverage(bench: () => Bench, { test }: TestFunctions): void {
  const faults: [string, (output: JobOutput) => Partial<CommitJob>][] = [
    ['leaves out a run', (output) => ({ outputs: [{ ...output, runs: output.runs.slice(1) }] })],
    ['leaves out a parent', (output) => ({ outputs: [changed(output, (run) => ({ parents: run.parents.slice(1) }))] })],
    [
      'names a parent twice',
      (output) => ({ outputs: [changed(output, (run) => ({ parents: [...run.parents, run.parents[0]!] }))] }),
    ],
    ['has a run without parents', (output) => ({ outputs: [changed(output, () => ({ parents: [] }))] })],
    [
      'swaps two parents',
      (output) => ({ outputs: [changed(output, (run) => ({ parents: [...run.parents].reverse() }))] }),
    ],
    [
      'names a parent of another object',
      (output) => ({
        outputs: [
          changed(output, (run) => ({ parents: [{ ...run.parents[0]!, objectKey: output.key }, run.parents[1]!] })),
        ],
      }),
    ],
    [
      'gives a run to another stream',
      (output) => ({ outputs: [changed(output, (run) => ({ streamId: run.streamId + 1 }))] }),
    ],
    [
      'starts too late',
      (output) => ({ outputs: [changed(output, (run) => ({ firstOffset: run.firstOffset + 1, records: 1 }))] }),
    ],
    [
      'ends too early',
      (output) => ({ outputs: [changed(output, (run) => ({ nextOffset: run.nextOffset - 1, records: 1 }))] }),
    ],
    [
      'drops readable records',
      (output) => ({ outputs: [{ ...output, runs: output.runs.slice(1) }], dropped: output.runs[0]!.parents }),
    ],
    ['names its output twice', (output) => ({ outputs: [output, { ...output, runs: [] }] })],
  ];
  for (const [what, fault] of faults) {
    test(`a commit that ${what} is a conflict and changes nothing`, async () => {
      const { coordinator } = bench();
      const { one, keys } = await pairs(coordinator, 3);
      const job = await claim(coordinator, keys.slice(1));
      const output = mergedOutput(job, await reserveKey(coordinator));
      const before = await allRuns(coordinator, one);
      await assert.rejects(coordinator.commitJob({ ...commitOf(job, [output]), ...fault(output) }), conflict);
      assert.deepEqual(await allRuns(coordinator, one), before);
      assert.deepEqual(await coordinator.classifyKeys([...keys, output.key]), [
        ...keys.map(() => 'committed'),
        'reserved',
      ]);
      await coordinator.commitJob(commitOf(job, [output]));
    });
  }

  test('an output must be reserved', async () => {
    const { coordinator, clock } = bench();
    const { keys } = await pairs(coordinator, 1);
    const expired = await reserveKey(coordinator);
    clock.advance(BENCH_TIMES.reservationTtl);
    const job = await claim(coordinator, keys);
    for (const key of [expired, keys[0]!, 'nothing']) {
      await assert.rejects(coordinator.commitJob(commitOf(job, [mergedOutput(job, key)])), conflict);
    }
  });
}

/** The output with its first run changed. */
function changed(
  output: JobOutput,
  change: (run: JobOutput['runs'][number]) => Partial<JobOutput['runs'][number]>,
): JobOutput {
  const [first, ...rest] = output.runs;
  return { ...output, runs: [{ ...first!, ...change(first!) }, ...rest] };
}
