/** Jobs: claimed, kept alive, committed. */
import { invalid } from '../../errors/argument-checks.ts';
import { commitJob } from '../commands/commit-job.ts';
import { claimJob, releaseJob, renewJob } from '../commands/job-commands.ts';
import type { CommitJob, Job, JobAnswer, JobPlan } from '../job.ts';
import type { Random } from '../../base/random.ts';
import { change } from './change.ts';
import type { Database } from './database.ts';
import type { Loader } from './loader.ts';
import { numbersOf } from './object-changes.ts';
import { isStorable } from './records.ts';

const TOKEN_BYTES = 16;

export async function claim(
  database: Database,
  worker: string,
  plan: JobPlan,
  leaseMs: number,
  random: Random,
): Promise<Job | undefined> {
  if (!isStorable(worker)) throw invalid('the name of a worker in PostgreSQL is well-formed text without U+0000');
  const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString('hex');
  return change(
    database,
    (loader) => loadForClaim(loader, plan.inputKeys, token),
    (state) => claimJob(state, worker, plan, leaseMs, token),
  );
}

/** Objects that somebody else is changing or claiming just now cannot be claimed: nobody waits for them. */
async function loadForClaim(loader: Loader, inputKeys: readonly string[], token: string): Promise<void> {
  const { session, tables, excerpt } = loader;
  await loader.lockObjects(numbersOf(inputKeys), true);
  const numbers = [...excerpt.lockedObjects];
  // The reply to an earlier attempt of this call may have been lost: its job would hold the inputs against this one.
  const own = await session.rows(`DELETE FROM ${tables.jobs} WHERE token = $1 RETURNING job_id`, [token]);
  loader.wrote ||= own.length > 0;
  const holders = await session.rows<{ job_id: number }>(
    `SELECT DISTINCT job_id FROM ${tables.job_inputs} WHERE object_number = ANY ($1::bigint[])`,
    [numbers],
  );
  await loader.lockJobs(holders.map(({ job_id }) => job_id));
  await loader.loadRunsOf(numbers);
  await loader.readStreams(excerpt.streamIds());
  await loader.lockCounter('job');
}

export function renew(database: Database, jobId: number, token: string, leaseMs: number): Promise<boolean> {
  return change(
    database,
    (loader) => loader.lockJobs([jobId]),
    (state) => renewJob(state, jobId, token, leaseMs),
  );
}

export function giveUp(database: Database, jobId: number, token: string): Promise<boolean> {
  return change(
    database,
    (loader) => loader.lockJobs([jobId]),
    (state) => releaseJob(state, jobId, token),
  );
}

export function finish(database: Database, commit: CommitJob): Promise<JobAnswer> {
  return change(
    database,
    (loader) => loadForFinish(loader, commit),
    (state) => commitJob(state, commit),
  );
}

interface Span {
  readonly stream_id: number;
  readonly first: number;
  readonly last: number;
}

/**
 * Of every stream with runs in the inputs, the list from the first of them to the last: their replacement has to
 * continue it. Runs of other objects in between stay as they are, and those objects are not locked.
 */
async function loadForFinish(loader: Loader, { jobId, outputs }: CommitJob): Promise<void> {
  const { excerpt } = loader;
  const inputs = await inputsOf(loader, jobId);
  // Streams are locked first, and only then can no run of the inputs die any more: what was found before may be less.
  await loader.lockStreams((await spansOf(loader, inputs)).map(({ stream_id }) => stream_id));
  for (const { stream_id, first, last } of await spansOf(loader, inputs)) {
    await loader.loadList(stream_id, first, last);
  }
  const outputNumbers = numbersOf(outputs.map(({ key }) => key));
  const held = excerpt.objectNumbers(({ stream_id, first_offset, end_offset }) => {
    const { firstOffset } = excerpt.state.stream(stream_id);
    return end_offset <= firstOffset && first_offset < firstOffset;
  });
  await loader.lockObjects([...inputs, ...outputNumbers, ...held]);
  await loader.lockJobs([jobId]);
  await loader.loadFinishedJobs([jobId]);
  await loader.readCounter('stream');
}

async function inputsOf({ session, tables }: Loader, jobId: number): Promise<number[]> {
  if (!Number.isSafeInteger(jobId)) return [];
  const text = `SELECT object_number FROM ${tables.job_inputs} WHERE job_id = $1 ORDER BY ordinal`;
  const rows = await session.rows<{ object_number: number }>(text, [jobId]);
  return rows.map(({ object_number }) => object_number);
}

function spansOf({ session, tables }: Loader, inputs: readonly number[]): Promise<Span[]> {
  return session.rows<Span>(
    `SELECT stream_id, min(position) AS first, max(position) AS last FROM ${tables.runs}
      WHERE object_number = ANY ($1::bigint[]) GROUP BY stream_id ORDER BY stream_id`,
    [inputs],
  );
}
