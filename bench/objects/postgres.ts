/** Commits of several writers to one PostgreSQL, which is started for it, syncs, and is removed afterwards. */
import { findPostgres, PostgresServer } from '../../test/support/postgres-server.ts';
import { runChild } from '../processes.ts';
import type { PostgresAnswer, PostgresJob } from './postgres-child.ts';

/** As a server comes: a commit is on the disk before it is answered. */
const SETTINGS = { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' };

export interface PostgresMeasured extends PostgresAnswer {
  /** Deadlocks that the server ended: the coordinator tries such a commit again. */
  readonly deadlocks: number;
}

/** A text is the reason why there is nothing to measure. */
export async function measurePostgres(
  writers: number,
  commits: number,
  timeout: number,
): Promise<PostgresMeasured | string> {
  const programs = await findPostgres();
  if ('missing' in programs) return programs.missing;
  const server = await PostgresServer.start(programs.bin, SETTINGS);
  try {
    const job: PostgresJob = { options: server.options, writers, commits };
    const found = (await runChild('objects/postgres-child.js', job, { timeout })) as PostgresAnswer;
    const client = await server.connect();
    const { rows } = await client.query<{ deadlocks: string }>(
      'SELECT sum(deadlocks) AS deadlocks FROM pg_stat_database',
    );
    await client.end();
    return { ...found, deadlocks: Number(rows[0]?.deadlocks ?? 0) };
  } finally {
    await server.stop();
  }
}
