/** Long streams: what a call costs follows its result, and one call never holds everybody up. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { CommitRun, Coordinator } from '../../../src/coordinator/coordinator.ts';
import {
  EVERYTHING,
  makeStream,
  mergedOutput,
  reserveKey,
  sampleCommit,
  sampleRun,
} from '../../../src/testing/coordinator/samples.ts';
import { newSchema, openOn } from '../../support/postgres-coordinators.ts';
import { findPostgres, PostgresServer } from '../../support/postgres-server.ts';

const RUNS = 12_000;

const postgres = await findPostgres();
const skip = 'missing' in postgres ? postgres.missing : false;

describe('PostgreSQL coordinator with a long stream', { skip }, () => {
  let server: PostgresServer;
  let schema: string;
  let coordinator: Coordinator;
  let streamId: number;
  before(async () => {
    if ('bin' in postgres) server = await PostgresServer.start(postgres.bin);
  });
  after(() => server.stop());
  beforeEach(async () => {
    schema = newSchema();
    coordinator = await openOn(server, { schema });
    streamId = await makeStream(coordinator, 'long');
    for (let from = 0; from < RUNS; from += RUNS / 4) {
      const runs = Array.from({ length: RUNS / 4 }, (_, index): CommitRun => sampleRun(streamId, from + index, 1));
      await coordinator.commitObject(sampleCommit(await reserveKey(coordinator), runs));
    }
  });
  afterEach(async () => {
    await coordinator.close();
    await server.query(`DROP SCHEMA ${schema} CASCADE`);
  });

  /** Rows that were read from the runs, by any way, while `work` ran. */
  const rowsRead = async (work: (coordinator: Coordinator) => Promise<unknown>): Promise<number> => {
    const count = async (): Promise<number> => {
      const [row] = await server.query<{ count: string }>(
        `SELECT (SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'runs')
          + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = $1 AND relname = 'runs') AS count`,
        [schema],
      );
      return Number(row?.count);
    };
    // The server counts a session's reads by its end at the latest.
    await coordinator.close();
    const before = await count();
    coordinator = await openOn(server, { schema });
    await work(coordinator);
    await coordinator.close();
    return (await count()) - before;
  };

  test('finding runs anywhere in it reads what it returns', async () => {
    await server.query(`ANALYZE ${schema}.runs`);
    for (const from of [0, RUNS / 2, RUNS - 3]) {
      const read = await rowsRead((opened) => opened.findRuns(streamId, from, { maxRuns: 3, maxBytes: 10_000 }));
      assert.ok(read >= 3 && read < 20, `${read} rows were read for 3`);
    }
  });

  test('appending to it reads none of its runs', async () => {
    const key = await reserveKey(coordinator);
    const commit = sampleCommit(key, [sampleRun(streamId, RUNS, 1)]);
    const read = await rowsRead((opened) => opened.commitObject(commit));
    assert.ok(read < 20, `${read} rows were read`);
  });

  test('a trim of more than one transaction takes has the effect of one', async () => {
    assert.deepEqual(await coordinator.trim(streamId, RUNS - 1), {
      firstOffset: RUNS - 1,
      runs: RUNS - 1,
      bytes: (RUNS - 1) * 100,
    });
    assert.deepEqual(await coordinator.verify(), []);
  });

  test('retention goes on over many transactions up to its limit, and says that there is more', async () => {
    const { stream } = await coordinator.createStream('long', { compression: 'lz4', retention: {}, cleanup: 'delete' });
    await coordinator.configureStream(streamId, { ...stream.config, retention: { maxBytes: 100 } });
    const limited = await coordinator.enforceRetention(undefined, { maxRuns: 1000 });
    assert.deepEqual(limited, { streams: [{ streamId, firstOffset: 1000, runs: 1000, bytes: 100_000 }], more: true });
    let firstOffset = 1000;
    for (let more = true; more;) {
      const result = await coordinator.enforceRetention();
      more = result.more;
      firstOffset = result.streams[0]?.firstOffset ?? firstOffset;
    }
    assert.equal(firstOffset, RUNS - 10);
    assert.deepEqual(await coordinator.verify(), []);
  });

  test('timestamps are looked up in the order of offsets, also after a merge made old records new rows', async () => {
    const other = await makeStream(coordinator, 'other');
    const inputKeys: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      const key = await reserveKey(coordinator);
      inputKeys.push(key);
      await coordinator.commitObject(sampleCommit(key, [sampleRun(other, index * 10, 10)]));
    }
    const plan = { kind: 'merge', inputKeys: inputKeys.slice(0, 2), hints: {} } as const;
    const job = (await coordinator.claimJob('w', plan, 60_000))!;
    const output = mergedOutput(job, await reserveKey(coordinator));
    await coordinator.commitJob({ jobId: job.jobId, token: job.token, outputs: [output], dropped: [] });
    assert.equal(await coordinator.listOffsets(other, 5), 0);
    assert.equal(await coordinator.listOffsets(other, 25), 20);
    const { runs } = await coordinator.findRuns(other, 0, EVERYTHING);
    assert.deepEqual(
      runs.map(({ firstOffset, endOffset }) => [firstOffset, endOffset]),
      [
        [0, 20],
        [20, 30],
      ],
    );
  });
});
