/** Lost connections, lost replies, crashes of the server: a commit takes effect once or not at all, and it is known. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
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
import { PostgresProxy, type ProxyFate } from '../../support/postgres-proxy.ts';
import { findPostgres, PostgresServer } from '../../support/postgres-server.ts';

const postgres = await findPostgres();
const skip = 'missing' in postgres ? postgres.missing : false;

describe('PostgreSQL coordinator under faults', { skip }, () => {
  let server: PostgresServer;
  let proxy: PostgresProxy;
  let schema: string;
  /** Behind the proxy. */
  let coordinator: Coordinator;
  /** Straight to the server. */
  let witness: Coordinator;
  before(async () => {
    if ('bin' in postgres) server = await PostgresServer.start(postgres.bin);
  });
  after(() => server.stop());
  beforeEach(async () => {
    schema = newSchema();
    proxy = new PostgresProxy(server.options.port);
    await proxy.listen();
    witness = await openOn(server, { schema });
    coordinator = await openOn(server, { schema, port: proxy.port, maxConnections: 1 });
  });
  afterEach(async () => {
    await coordinator.close();
    await witness.close();
    await proxy.close();
    await server.query(`DROP SCHEMA ${schema} CASCADE`);
  });

  /** Does it happen to this message, once? */
  const onceAt = (fate: ProxyFate, matches: (text: string, index: number) => boolean): void => {
    let isDone = false;
    proxy.plan(({ text, index }) => {
      if (isDone || !matches(text, index)) return 'pass';
      isDone = true;
      return fate;
    });
  };
  const atCommit = (text: string): boolean => text.startsWith('COMMIT');

  for (const fate of ['cutBefore', 'cutAfter'] as const) {
    test(`an object whose COMMIT meets ${fate} is committed exactly once, and the caller is told so`, async () => {
      const streamId = await makeStream(witness, 'a');
      const key = await reserveKey(witness);
      onceAt(fate, atCommit);
      const commit = sampleCommit(key, [sampleRun(streamId, 0, 5)], { relative: true });
      const answer = await coordinator.commitObject(commit);
      assert.deepEqual(answer, { runs: [{ streamId, firstOffset: 0 }], replayed: fate === 'cutAfter' });
      assert.equal((await allRuns(witness, streamId)).length, 1);
      assert.deepEqual(await witness.verify(), []);
    });

    test(`a job whose COMMIT meets ${fate} is committed exactly once`, async () => {
      const streamId = await makeStream(witness, 'a');
      const key = await commitRuns(witness, [sampleRun(streamId, 0, 5)]);
      const job = (await witness.claimJob('w', { kind: 'rewrite', inputKeys: [key], hints: {} }, 60_000))!;
      const output = mergedOutput(job, await reserveKey(witness));
      onceAt(fate, atCommit);
      const answer = await coordinator.commitJob({
        jobId: job.jobId,
        token: job.token,
        outputs: [output],
        dropped: [],
      });
      assert.equal(answer.replayed, fate === 'cutAfter');
      assert.deepEqual(
        (await allRuns(witness, streamId)).map(({ objectKey }) => objectKey),
        [output.key],
      );
    });

    test(`a claim whose COMMIT meets ${fate} does not lock itself out`, async () => {
      const streamId = await makeStream(witness, 'a');
      const key = await commitRuns(witness, [sampleRun(streamId, 0, 5)]);
      onceAt(fate, atCommit);
      const job = await coordinator.claimJob('w', { kind: 'rewrite', inputKeys: [key], hints: {} }, 60_000);
      assert.deepEqual(
        (await witness.jobs()).map(({ jobId }) => jobId),
        [job?.jobId],
      );
      assert.equal(await witness.renewJob(job!.jobId, job!.token, 60_000), true);
    });
  }

  test('a reply that never comes is given up, and asked about again', async () => {
    const streamId = await makeStream(witness, 'a');
    const key = await reserveKey(witness);
    await coordinator.close();
    coordinator = await openOn(server, { schema, port: proxy.port, maxConnections: 1, statementTimeout: 1_500 });
    onceAt('silence', atCommit);
    const answer = await coordinator.commitObject(sampleCommit(key, [sampleRun(streamId, 0, 5)]));
    assert.equal(answer.replayed, true);
    assert.equal((await allRuns(witness, streamId)).length, 1);
  });

  test('a connection lost at any message leaves all or nothing of a commit, and asking again ends it', async () => {
    const streamId = await makeStream(witness, 'a');
    const relative = [sampleRun(streamId, 0, 1)];
    const first = await reserveKey(witness);
    proxy.plan(() => 'pass');
    await coordinator.commitObject(sampleCommit(first, relative, { relative: true }));
    const messages = proxy.count;
    assert.ok(messages > 20, `${messages} messages are a whole transaction`);
    let commits = 1;
    let rejected = 0;
    for (const fate of ['cutBefore', 'cutAfter'] as const) {
      for (let at = 0; at < messages; at += 1) {
        const commit = sampleCommit(await reserveKey(witness), relative, { relative: true });
        onceAt(fate, (_, index) => index === at);
        try {
          await coordinator.commitObject(commit);
        } catch (error) {
          assert.ok(isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE'), String(error));
          rejected += 1;
          await coordinator.commitObject(commit);
        }
        commits += 1;
        assert.equal((await witness.streamTotals(streamId)).nextOffset, commits, `${fate} at message ${at}`);
      }
    }
    assert.ok(rejected > messages, 'most losses are reported');
    assert.equal((await allRuns(witness, streamId)).length, commits);
    assert.deepEqual(await witness.verify(), []);
  });

  test('a crash of the server ends commits in an outcome that holds, and then the coordinator goes on', async () => {
    const streamIds = await Promise.all(['a', 'b', 'c', 'd'].map((name) => makeStream(witness, name)));
    const committed = new Map<number, number>(streamIds.map((streamId) => [streamId, 0]));
    let isOver = false;
    let unavailable = 0;
    const write = async (streamId: number): Promise<void> => {
      while (!isOver) {
        const commit = await ask(async () => {
          const key = await reserveKey(witness);
          return sampleCommit(key, [sampleRun(streamId, 0, 1)], { relative: true });
        });
        await ask(() => witness.commitObject(commit));
        committed.set(streamId, committed.get(streamId)! + 1);
      }
    };
    /** Asks until there is an answer, as callers do. */
    const ask = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
      for (;;) {
        try {
          return await work();
        } catch (error) {
          assert.ok(isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE'), String(error));
          unavailable += 1;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    const writers = streamIds.map(write);
    for (let crash = 0; crash < 3; crash += 1) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      await server.halt('immediate');
      await server.restart();
    }
    isOver = true;
    await Promise.all(writers);
    assert.ok(unavailable > 0, 'somebody noticed the crashes');
    for (const streamId of streamIds) {
      assert.equal((await witness.streamTotals(streamId)).nextOffset, committed.get(streamId));
    }
    assert.deepEqual(await witness.verify(), []);
  });

  test('while the server is down, calls are refused as unavailable and name the place', async () => {
    await server.halt('fast');
    try {
      const down = (error: unknown): boolean => {
        return isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE') && error.message.includes('PostgreSQL at 127.0.0.1');
      };
      await assert.rejects(witness.createStream('a', PLAIN), down);
      await assert.rejects(witness.streams(), down);
    } finally {
      await server.restart();
    }
    assert.deepEqual(await witness.streams(), []);
  });

  test('a commit that nobody can say anything about is reported as in doubt', async () => {
    const streamId = await makeStream(witness, 'a');
    const key = await reserveKey(witness);
    await coordinator.close();
    coordinator = await openOn(server, { schema, port: proxy.port, maxConnections: 1, resolveTimeout: 200 });
    let isCut = false;
    proxy.plan(({ text }) => {
      if (isCut) return 'cutBefore';
      isCut = atCommit(text);
      return isCut ? 'cutAfter' : 'pass';
    });
    const commit = sampleCommit(key, [sampleRun(streamId, 0, 5)]);
    await assert.rejects(coordinator.commitObject(commit), (error) => {
      return isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE') && error.details['inDoubt'] === true;
    });
    proxy.plan(() => 'pass');
    assert.equal((await coordinator.commitObject(commit)).replayed, true);
  });
});
