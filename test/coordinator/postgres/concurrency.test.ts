/** Several processes at once, as far as the server can tell: each coordinator has its own connections. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { SeededRandom } from '../../../src/base/random.ts';
import type { Coordinator } from '../../../src/coordinator/coordinator.ts';
import { isMillraceError } from '../../../src/errors/millrace-error.ts';
import {
  allRuns,
  commitRuns,
  makeStream,
  mergedOutput,
  PLAIN,
  reserveKey,
  sampleCommit,
  sampleRun,
} from '../../../src/testing/coordinator/samples.ts';
import { newSchema, openOn } from '../../support/postgres-coordinators.ts';
import { findPostgres, PostgresServer } from '../../support/postgres-server.ts';

const WRITERS = 8;
const LEASE = 60_000;
/** What two processes that do not know of each other may run into. */
const EXPECTED_REFUSALS = [
  'ERR_MILLRACE_CONFLICT',
  'ERR_MILLRACE_LEASE_LOST',
  'ERR_MILLRACE_STREAM_NOT_FOUND',
  'ERR_MILLRACE_OFFSET_OUT_OF_RANGE',
] as const;

const postgres = await findPostgres();
const skip = 'missing' in postgres ? postgres.missing : false;

describe('PostgreSQL coordinator with several writers', { skip }, () => {
  let server: PostgresServer;
  let schema: string;
  let coordinators: Coordinator[];
  const first = (): Coordinator => coordinators[0]!;
  before(async () => {
    if ('bin' in postgres) server = await PostgresServer.start(postgres.bin);
  });
  after(() => server.stop());
  beforeEach(async () => {
    schema = newSchema();
    const times = { deleteGrace: 0, tombstoneRetention: 0 };
    coordinators = await Promise.all(Array.from({ length: WRITERS }, () => openOn(server, { schema }, times)));
  });
  afterEach(async () => {
    await Promise.all(coordinators.map((coordinator) => coordinator.close()));
    await server.query(`DROP SCHEMA ${schema} CASCADE`);
  });

  test('all commit to the same streams, named in any order, and every record finds its offsets', async () => {
    const rounds = 12;
    const streamIds = await Promise.all(['a', 'b', 'c'].map((name) => makeStream(first(), name)));
    const firstOffsets = new Map<number, number[]>(streamIds.map((streamId) => [streamId, []]));
    const write = async (coordinator: Coordinator, writer: number): Promise<void> => {
      for (let round = 0; round < rounds; round += 1) {
        const turned = streamIds.map((_, index) => streamIds[(index + writer + round) % streamIds.length]!);
        const runs = turned.map((streamId) => sampleRun(streamId, 0, 2));
        const answer = await coordinator.commitObject(
          sampleCommit(await reserveKey(coordinator), runs, { relative: true }),
        );
        for (const { streamId, firstOffset } of answer.runs) firstOffsets.get(streamId)!.push(firstOffset!);
      }
    };
    await Promise.all(coordinators.map(write));
    const expected = Array.from({ length: WRITERS * rounds }, (_, index) => index * 2);
    for (const streamId of streamIds) {
      assert.deepEqual(
        firstOffsets.get(streamId)!.sort((left, right) => left - right),
        expected,
      );
      assert.equal((await first().streamTotals(streamId)).nextOffset, WRITERS * rounds * 2);
    }
    assert.deepEqual(await first().verify(), []);
  });

  test('of those that continue a stream at the same offset, one does', async () => {
    const streamId = await makeStream(first(), 'a');
    const outcomes = await Promise.allSettled(
      coordinators.map((coordinator) => commitRuns(coordinator, [sampleRun(streamId, 0, 3)])),
    );
    const losers = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.equal(losers.length, WRITERS - 1);
    for (const { reason } of losers) {
      assert.ok(isMillraceError(reason, 'ERR_MILLRACE_CONFLICT'), String(reason));
      assert.deepEqual([reason.details['expected'], reason.details['actual']], [3, 0]);
    }
    assert.equal((await allRuns(first(), streamId)).length, 1);
  });

  test('one object that all commit is committed once', async () => {
    const streamId = await makeStream(first(), 'a');
    const commit = sampleCommit(await reserveKey(first()), [sampleRun(streamId, 0, 3)], { relative: true });
    const answers = await Promise.all(coordinators.map((coordinator) => coordinator.commitObject(commit)));
    assert.equal(answers.filter(({ replayed }) => !replayed).length, 1);
    assert.deepEqual(
      answers.map(({ runs }) => runs),
      answers.map(() => [{ streamId, firstOffset: 0 }]),
    );
  });

  test('of those that claim the same inputs, one gets the job and nobody waits', async () => {
    const streamId = await makeStream(first(), 'a');
    const inputKeys: string[] = [];
    for (let index = 0; index < 4; index += 1)
      inputKeys.push(await commitRuns(first(), [sampleRun(streamId, index, 1)]));
    const jobs = await Promise.all(
      coordinators.map((coordinator, index) => {
        const keys = index % 2 === 0 ? inputKeys : [...inputKeys].reverse();
        return coordinator.claimJob(`worker ${index}`, { kind: 'merge', inputKeys: keys, hints: {} }, LEASE);
      }),
    );
    assert.equal(jobs.filter((job) => job !== undefined).length, 1);
  });

  test('an object that another transaction is changing is not waited for by a claim', async () => {
    const streamId = await makeStream(first(), 'a');
    const key = await commitRuns(first(), [sampleRun(streamId, 0, 1)]);
    const plan = { kind: 'merge', inputKeys: [key], hints: {} } as const;
    const other = await server.connect();
    await other.query('BEGIN');
    await other.query(`SELECT FROM ${schema}.objects WHERE key = $1 FOR UPDATE`, [key]);
    assert.equal(await first().claimJob('w', plan, LEASE), undefined);
    await other.query('ROLLBACK');
    await other.end();
    assert.notEqual(await first().claimJob('w', plan, LEASE), undefined);
  });

  test('everything at once: no deadlock reaches anybody, and the invariants hold', async () => {
    const steps = 40;
    for (const name of ['a', 'b', 'c', 'd']) await makeStream(first(), name, { retention: { maxBytes: 400 } });
    const refusals = new Map<string, number>();
    const work = async (coordinator: Coordinator, writer: number): Promise<void> => {
      const random = new SeededRandom(writer);
      for (let step = 0; step < steps; step += 1) {
        try {
          await anything(coordinator, random);
        } catch (error) {
          if (!isMillraceError(error)) throw error;
          assert.ok(
            EXPECTED_REFUSALS.some((code) => code === error.code),
            String(error),
          );
          refusals.set(error.code, (refusals.get(error.code) ?? 0) + 1);
        }
      }
    };
    await Promise.all(coordinators.map(work));
    assert.deepEqual(await first().verify(), []);
    assert.ok((await first().stats()).runs > 0, 'something is left to have verified');
    // Sessions report what they met when they end. Deadlocks would be retried, but the order of locks leaves none.
    await Promise.all(coordinators.map((coordinator) => coordinator.close()));
    const [row] = await server.query<{ deadlocks: string }>(
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    );
    assert.equal(Number(row?.deadlocks), 0);
  });
});

async function anything(coordinator: Coordinator, random: SeededRandom): Promise<unknown> {
  const streams = await coordinator.streams();
  const { streamId = 1 } = streams[random.below(streams.length)] ?? {};
  const { firstOffset, nextOffset } = await coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
  switch (random.below(12)) {
    case 0:
      return coordinator.trim(streamId, firstOffset + random.below(nextOffset - firstOffset + 1));
    case 1:
      return coordinator.enforceRetention();
    case 2:
      return coordinator.expire();
    case 3:
      return coordinator.confirmDeleted(await coordinator.objectsToDelete(10));
    case 4:
      return random.below(5) > 0 ? undefined : coordinator.deleteStream(streamId);
    case 5:
      return coordinator.createStream('abcd'.charAt(random.below(4)), PLAIN);
    case 6:
    case 7:
      return compact(coordinator, random);
    default:
      return append(
        coordinator,
        streams.map((stream) => stream.streamId),
        random,
      );
  }
}

async function append(coordinator: Coordinator, streamIds: number[], random: SeededRandom): Promise<void> {
  // Another order for everybody, and now and then a snapshot, which ends what was held for older tracking.
  const turned = random.below(2) === 0 ? streamIds : streamIds.reverse();
  const runs = turned.map((streamId) => {
    const tracking = random.below(3) === 0 ? { trackingBytes: 10, trackingSnapshot: random.below(2) === 0 } : {};
    return sampleRun(streamId, 0, random.below(4), tracking);
  });
  await coordinator.commitObject(sampleCommit(await reserveKey(coordinator), runs, { relative: true }));
}

async function compact(coordinator: Coordinator, random: SeededRandom): Promise<void> {
  const objects = await coordinator.listObjects({ unclaimed: true });
  const from = random.below(objects.length + 1);
  const inputKeys = objects.slice(from, from + 4).map(({ key }) => key);
  if (inputKeys.length === 0) return;
  const job = await coordinator.claimJob('worker', { kind: 'merge', inputKeys, hints: {} }, LEASE);
  if (job === undefined) return;
  const output = mergedOutput(job, await reserveKey(coordinator));
  const outputs = output.runs.length === 0 ? [] : [output];
  const ids = { jobId: job.jobId, token: job.token };
  try {
    await coordinator.commitJob({ ...ids, outputs, dropped: [] });
  } catch (error) {
    await coordinator.releaseJob(ids.jobId, ids.token);
    throw error;
  }
}
