import assert from 'node:assert/strict';
import type { CommitRun, ObjectCommit } from '../../coordinator/coordinator.ts';
import { isMillraceError } from '../../errors/millrace-error.ts';
import { allRuns, commitRuns, makeStream, reserveKey, sampleCommit, sampleRun } from './samples.ts';
import { BENCH_START, BENCH_TIMES, type Bench } from './bench.ts';
import { withCode } from '../object-store-contract.ts';
import type { TestFunctions } from '../test-functions.ts';

const conflict = withCode('ERR_MILLRACE_CONFLICT');

export function objects(bench: () => Bench, functions: TestFunctions): void {
  reservations(bench, functions);
  commits(bench, functions);
  relativeCommits(bench, functions);
  lanes(bench, functions);
  refusals(bench, functions);
}

function reservations(bench: () => Bench, { test }: TestFunctions): void {
  test('keys are ascending, well formed, and never made twice, not even after reopening', async () => {
    const keys: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const { coordinator, reopen } = bench();
      const reservations = await Promise.all([coordinator.reserveObjects(5), coordinator.reserveObjects(1)]);
      for (const reservation of reservations) {
        keys.push(...reservation.keys);
        assert.equal(reservation.deadline, BENCH_START + BENCH_TIMES.reservationTtl);
      }
      await reopen();
    }
    assert.equal(new Set(keys).size, 18);
    assert.deepEqual([...keys].sort(), keys);
    for (const key of keys) assert.match(key, /^[0-9a-z/.-]{1,200}$/);
  });

  test('after its deadline a reservation can no longer be committed, and its object is to be deleted', async () => {
    const { coordinator, clock } = bench();
    const streamId = await makeStream(coordinator, 's');
    const key = await reserveKey(coordinator);
    clock.advance(BENCH_TIMES.reservationTtl);
    await assert.rejects(coordinator.commitObject(sampleCommit(key, [sampleRun(streamId, 0, 1)])), conflict);
    assert.deepEqual(await coordinator.expire(), { reservations: 1, jobs: 0, tombstones: 0 });
    assert.deepEqual(await coordinator.classifyKeys([key]), ['deleting']);
    await assert.rejects(coordinator.commitObject(sampleCommit(key, [sampleRun(streamId, 0, 1)])), conflict);
    assert.deepEqual(await allRuns(coordinator, streamId), []);
  });

  test('an aborted key is to be deleted and cannot be committed; a committed one cannot be aborted', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    const key = await reserveKey(coordinator);
    assert.equal(await coordinator.abortObject(key), true);
    assert.equal(await coordinator.abortObject(key), true);
    assert.deepEqual(await coordinator.classifyKeys([key]), ['deleting']);
    await assert.rejects(coordinator.commitObject(sampleCommit(key, [sampleRun(streamId, 0, 1)])), conflict);
    const committed = await commitRuns(coordinator, [sampleRun(streamId, 0, 1)]);
    assert.equal(await coordinator.abortObject(committed), false);
    assert.deepEqual(await coordinator.classifyKeys([committed]), ['committed']);
  });

  test('a key that was never reserved cannot be committed', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    const key = await reserveKey(coordinator);
    const run = sampleRun(streamId, 0, 1);
    for (const other of ['segments/x', key.replace(/[0-9a-f]\.seg$/, (end) => (end[0] === '0' ? '1' : '0') + '.seg')]) {
      await assert.rejects(coordinator.commitObject(sampleCommit(other, [run])), conflict);
      assert.deepEqual(await coordinator.classifyKeys([other]), ['unknown']);
    }
  });
}

function commits(bench: () => Bench, { test }: TestFunctions): void {
  test('a commit makes its runs readable, and moves the watermarks', async () => {
    const { coordinator, reopen } = bench();
    const one = await makeStream(coordinator, 'one');
    const two = await makeStream(coordinator, 'two');
    const key = await reserveKey(coordinator);
    const commit = sampleCommit(key, [sampleRun(one, 0, 3), sampleRun(one, 3, 4), sampleRun(two, 0, 1)]);
    const answer = await coordinator.commitObject(commit);
    assert.deepEqual(
      answer.runs.map(({ firstOffset }) => firstOffset),
      [0, 3, 0],
    );
    for (let round = 0; round < 2; round += 1) {
      const expected = commit.runs
        .slice(0, 2)
        .map((run) => ({ ...run, objectKey: key, endOffset: run.nextOffset, trackingSnapshot: false }));
      assert.deepEqual(await allRuns(bench().coordinator, one), expected);
      const { firstOffset, nextOffset } = await bench().coordinator.findRuns(one, 0, { maxRuns: 1, maxBytes: 1 });
      assert.deepEqual({ firstOffset, nextOffset }, { firstOffset: 0, nextOffset: 7 });
      await reopen();
    }
  });

  test('a repeated commit returns the stored answer and changes nothing, whatever happened since', async () => {
    const { coordinator, clock, reopen } = bench();
    const streamId = await makeStream(coordinator, 's');
    const key = await reserveKey(coordinator);
    const commit = sampleCommit(key, [sampleRun(streamId, 0, 3)], {
      wal: { lane: 0, slotSequence: 4, blockSequence: 9 },
    });
    const { runs } = await coordinator.commitObject(commit);
    await commitRuns(coordinator, [sampleRun(streamId, 3, 2)]);
    assert.deepEqual(await coordinator.commitObject(commit), { runs, replayed: true });
    clock.advance(BENCH_TIMES.reservationTtl * 2);
    await coordinator.trim(streamId, 5);
    await reopen();
    assert.deepEqual(await bench().coordinator.commitObject(commit), { runs, replayed: true });
    const totals = await bench().coordinator.streamTotals(streamId);
    assert.equal(totals.nextOffset, 5);
  });

  test('the same commit twice at the same time takes effect once', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    const commit = sampleCommit(await reserveKey(coordinator), [sampleRun(streamId, 0, 3)], { relative: true });
    const answers = await Promise.all([coordinator.commitObject(commit), coordinator.commitObject(commit)]);
    assert.deepEqual(answers.map(({ replayed }) => replayed).sort(), [false, true]);
    assert.deepEqual(answers[0].runs, answers[1].runs);
    assert.equal((await coordinator.streamTotals(streamId)).nextOffset, 3);
  });

  test('a key that is committed with another content is a conflict', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    const commit = sampleCommit(await reserveKey(coordinator), [sampleRun(streamId, 0, 3)]);
    await coordinator.commitObject(commit);
    await assert.rejects(coordinator.commitObject({ ...commit, checksum: 'ffffffffffffffff' }), conflict);
    await assert.rejects(coordinator.commitObject({ ...commit, bytes: commit.bytes + 1 }), conflict);
  });

  for (const [what, firstOffset] of [
    ['a gap', 4],
    ['an overlap', 2],
  ] as const) {
    test(`${what} between the watermark and a run is a conflict that names both, and changes nothing`, async () => {
      const { coordinator } = bench();
      const streamId = await makeStream(coordinator, 's');
      const other = await makeStream(coordinator, 'other');
      await commitRuns(coordinator, [sampleRun(streamId, 0, 3)]);
      const key = await reserveKey(coordinator);
      const commit = sampleCommit(key, [sampleRun(other, 0, 1), sampleRun(streamId, firstOffset, 3)]);
      await assert.rejects(coordinator.commitObject(commit), (error) => {
        assert.ok(isMillraceError(error, 'ERR_MILLRACE_CONFLICT'));
        assert.deepEqual(error.details, { streamId, expected: 3, actual: firstOffset });
        return true;
      });
      assert.equal((await coordinator.streamTotals(other)).nextOffset, 0);
      assert.deepEqual(await coordinator.classifyKeys([key]), ['reserved']);
      await coordinator.commitObject(sampleCommit(key, [sampleRun(streamId, 3, 3)]));
      assert.equal((await coordinator.streamTotals(streamId)).nextOffset, 6);
    });
  }

  test('a run of an epoch that the stream has left is a conflict', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    await commitRuns(coordinator, [sampleRun(streamId, 0, 1, { epoch: 3 })]);
    const key = await reserveKey(coordinator);
    await assert.rejects(
      coordinator.commitObject(sampleCommit(key, [sampleRun(streamId, 1, 1, { epoch: 2 })])),
      conflict,
    );
    await coordinator.commitObject(sampleCommit(key, [sampleRun(streamId, 1, 1, { epoch: 3 })]));
    assert.equal((await coordinator.streamTotals(streamId)).epoch, 3);
  });
}

function relativeCommits(bench: () => Bench, { test }: TestFunctions): void {
  test('relative runs get the next offsets in the order of commits, and the answer is kept', async () => {
    const { coordinator, clock, reopen } = bench();
    const streamId = await makeStream(coordinator, 's');
    const gone = await makeStream(coordinator, 'gone');
    const { keys } = await coordinator.reserveObjects(3);
    const commits = keys.map((key, index) =>
      sampleCommit(key, [sampleRun(gone, 0, 1), sampleRun(streamId, 0, index + 1), sampleRun(streamId, 0, 10)], {
        relative: true,
      }),
    );
    await coordinator.commitObject(commits[2]!);
    await coordinator.deleteStream(gone);
    await coordinator.commitObject(commits[0]!);
    await coordinator.commitObject(commits[1]!);
    const offsets = async (commit: ObjectCommit): Promise<(number | undefined)[]> => {
      const answer = await bench().coordinator.commitObject(commit);
      assert.equal(answer.replayed, true);
      return answer.runs.map(({ firstOffset }) => firstOffset);
    };
    clock.advance(1);
    await reopen();
    assert.deepEqual(await offsets(commits[2]!), [0, 0, 3]);
    assert.deepEqual(await offsets(commits[0]!), [undefined, 13, 14]);
    assert.deepEqual(await offsets(commits[1]!), [undefined, 24, 26]);
    const runs = await allRuns(bench().coordinator, streamId);
    assert.deepEqual(
      runs.map(({ firstOffset }) => firstOffset),
      [0, 3, 13, 14, 24, 26],
    );
  });

  test('a relative run counts from 0', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    const commit = sampleCommit(await reserveKey(coordinator), [sampleRun(streamId, 1, 1)], { relative: true });
    await assert.rejects(coordinator.commitObject(commit), withCode('ERR_MILLRACE_INVALID_ARGUMENT'));
  });
}

function lanes(bench: () => Bench, { test }: TestFunctions): void {
  test('a commit advances its lane in the same step, and survives reopening', async () => {
    const { coordinator, reopen } = bench();
    const streamId = await makeStream(coordinator, 's');
    assert.deepEqual(await coordinator.flushedSlots(), []);
    const wal = { lane: 1, slotSequence: 5, blockSequence: 40 };
    await commitRuns(coordinator, [sampleRun(streamId, 0, 1)], { wal });
    await coordinator.advanceFlushed({ lane: 0, slotSequence: 9, blockSequence: 90 });
    await reopen();
    assert.deepEqual(await bench().coordinator.flushedSlots(), [{ lane: 0, slotSequence: 9, blockSequence: 90 }, wal]);
  });

  test('a lane never goes back', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    await coordinator.advanceFlushed({ lane: 0, slotSequence: 5, blockSequence: 7 });
    await coordinator.advanceFlushed({ lane: 0, slotSequence: 5, blockSequence: 7 });
    for (const slotSequence of [4, 5]) {
      const wal = { lane: 0, slotSequence, blockSequence: 8 };
      await assert.rejects(coordinator.advanceFlushed(wal), conflict);
      const commit = sampleCommit(await reserveKey(coordinator), [sampleRun(streamId, 0, 1)], { wal });
      await assert.rejects(coordinator.commitObject(commit), conflict);
    }
    assert.equal((await coordinator.streamTotals(streamId)).nextOffset, 0);
  });
}

function refusals(bench: () => Bench, { test }: TestFunctions): void {
  const badRuns: [string, Partial<CommitRun>][] = [
    ['without bytes', { byteLength: 0 }],
    ['with more records than offsets', { records: 6 }],
    ['that ends before it starts', { nextOffset: -1 }],
    ['with an unsafe offset', { nextOffset: 2 ** 53 }],
    ['whose timestamps are swapped', { firstTimestamp: 6 }],
    ['with a fractional size', { userBytes: 0.5 }],
    ['with more tracking than bytes', { trackingBytes: 101 }],
    ['with an epoch of 33 bits', { epoch: 2 ** 32 }],
    ['without chunks', { chunks: 0 }],
  ];
  for (const [what, part] of badRuns) {
    test(`a run ${what} is refused`, async () => {
      const { coordinator } = bench();
      const streamId = await makeStream(coordinator, 's');
      const commit = sampleCommit(await reserveKey(coordinator), [sampleRun(streamId, 0, 5, part)]);
      await assert.rejects(coordinator.commitObject(commit), withCode('ERR_MILLRACE_INVALID_ARGUMENT'));
    });
  }

  test('runs that overlap, or leave their object, are refused', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 's');
    const commit = sampleCommit(await reserveKey(coordinator), [sampleRun(streamId, 0, 5), sampleRun(streamId, 5, 5)]);
    const invalid = withCode('ERR_MILLRACE_INVALID_ARGUMENT');
    const [first, second] = commit.runs;
    await assert.rejects(coordinator.commitObject({ ...commit, bytes: second!.byteOffset + 99 }), invalid);
    const overlapping = [first!, { ...second!, byteOffset: first!.byteOffset + 99 }];
    await assert.rejects(coordinator.commitObject({ ...commit, runs: overlapping }), invalid);
    await assert.rejects(coordinator.commitObject({ ...commit, checksum: 'XYZ' }), invalid);
    await coordinator.commitObject(commit);
  });

  test('a number of keys that is none is refused', async () => {
    const { coordinator } = bench();
    for (const count of [0, -1, 1.5, NaN]) {
      await assert.rejects(coordinator.reserveObjects(count), withCode('ERR_MILLRACE_INVALID_ARGUMENT'));
    }
  });
}
