/** Questions about objects and jobs, and the totals of the store. */
import type {
  CoordinatorStats,
  CoordinatorTimes,
  FoundRun,
  KeyClass,
  ObjectDescription,
  ObjectFilter,
  ObjectState,
} from '../coordinator.ts';
import type { JobDescription } from '../job.ts';
import { timeOf } from './change.ts';
import type { Database } from './database.ts';
import { FAR } from './loader.ts';
import { numbersOf } from './object-changes.ts';
import type { JobRecord, ObjectRecord } from './records.ts';
import { toFoundRun, type KeyedRun } from './stream-queries.ts';

type DescribedObject = ObjectRecord & { readonly job_id: number | null };

export async function listObjects(database: Database, filter: ObjectFilter): Promise<ObjectDescription[]> {
  const { objects, job_inputs } = database.tables;
  const text = `
    SELECT object.*, job_id FROM ${objects} AS object LEFT JOIN ${job_inputs} ON object_number = number
    WHERE state = $1 AND generation <= $2::bigint AND bytes <= $3 AND committed_at <= $4 AND key > $5
      ${filter.unclaimed === true ? 'AND job_id IS NULL' : ''}
    ORDER BY number LIMIT $6`;
  const { state = 'committed', maxGeneration = FAR, maxBytes = FAR, committedBefore = FAR, after = '' } = filter;
  const values = [state, most(maxGeneration), most(maxBytes), most(committedBefore)];
  // No key has the character that PostgreSQL cannot store: what comes behind it decides nothing.
  const [start = ''] = after.split('\0');
  const limit = Math.max(0, most(Math.ceil(filter.limit ?? FAR)));
  const rows = await database.read((session) => session.rows<DescribedObject>(text, [...values, start, limit]));
  return rows.map(describeObject);
}

function describeObject(record: DescribedObject): ObjectDescription {
  return {
    key: record.key,
    state: record.state,
    stateAt: record.state_at,
    committedAt: record.committed_at,
    bytes: record.bytes,
    checksum: record.checksum,
    generation: record.generation,
    liveBytes: record.live_bytes,
    liveRuns: record.live_runs,
    liveTrackingBytes: record.live_tracking_bytes,
    firstTimestamp: record.first_timestamp,
    lastTimestamp: record.last_timestamp,
    rewriteBy: record.rewrite_by ?? undefined,
    jobId: record.job_id ?? undefined,
  };
}

/** An inclusive bound as a column can hold it. */
function most(value: number): number {
  return Math.max(-FAR, Math.min(FAR, Math.floor(value)));
}

export async function runsOfObject(database: Database, key: string): Promise<FoundRun[]> {
  const { runs, objects } = database.tables;
  const text = `
    SELECT run.*, key FROM ${objects} JOIN ${runs} AS run ON object_number = number
    WHERE number = ANY ($1::bigint[]) AND key = $2 ORDER BY byte_offset`;
  const numbers = numbersOf([key]);
  if (numbers.length === 0) return [];
  const rows = await database.read((session) => session.rows<KeyedRun>(text, [numbers, key]));
  return rows.map(toFoundRun);
}

export async function listJobs(database: Database): Promise<JobDescription[]> {
  const { jobs, job_inputs, objects } = database.tables;
  const text = `
    SELECT job.*, ARRAY(
      SELECT key FROM ${job_inputs} AS input JOIN ${objects} ON number = object_number
      WHERE input.job_id = job.job_id ORDER BY ordinal
    ) AS keys FROM ${jobs} AS job ORDER BY job_id`;
  const rows = await database.read((session) => session.rows<JobRecord & { readonly keys: string[] }>(text));
  return rows.map((row) => ({
    jobId: row.job_id,
    kind: row.kind,
    worker: row.worker,
    claimedAt: row.claimed_at,
    leaseUntil: row.lease_until,
    inputKeys: row.keys,
  }));
}

export async function objectsToDelete(database: Database, limit: number, times: CoordinatorTimes): Promise<string[]> {
  const text = `
    SELECT key FROM ${database.tables.objects}
    WHERE state = 'deleting' AND state_at <= ${timeOf(database.tables)} - $1::bigint
    ORDER BY state_at, number LIMIT $2`;
  const values = [times.deleteGrace, Math.max(0, most(Math.ceil(limit)))];
  const rows = await database.read((session) => session.rows<{ key: string }>(text, values));
  return rows.map(({ key }) => key);
}

export async function classifyKeys(database: Database, keys: readonly string[]): Promise<KeyClass[]> {
  const text = `SELECT key, state FROM ${database.tables.objects} WHERE number = ANY ($1::bigint[])`;
  const rows = await database.read((session) => {
    return session.rows<{ key: string; state: ObjectState }>(text, [numbersOf(keys)]);
  });
  const states = new Map(rows.map(({ key, state }) => [key, state]));
  return keys.map((key) => states.get(key) ?? 'unknown');
}

interface StatsRow {
  readonly streams: number;
  readonly runs: number;
  readonly jobs: number;
  readonly now: number;
  /** By state: number of objects, their bytes and their live bytes. */
  readonly objects: Readonly<Partial<Record<ObjectState, readonly [number, number, number]>>> | null;
}

export async function countAll(database: Database): Promise<CoordinatorStats> {
  const { streams, runs, jobs, objects } = database.tables;
  const text = `
    SELECT (SELECT count(*) FROM ${streams}) AS streams, (SELECT count(*) FROM ${runs}) AS runs,
      (SELECT count(*) FROM ${jobs}) AS jobs, ${timeOf(database.tables)} AS now, (
        SELECT json_object_agg(state, counts) FROM (
          SELECT state, json_build_array(count(*), sum(bytes), sum(live_bytes)) AS counts FROM ${objects} GROUP BY state
        ) AS by_state
      ) AS objects`;
  const [row] = await database.read((session) => session.rows<StatsRow>(text));
  const { streams: streamCount = 0, runs: runCount = 0, jobs: jobCount = 0, now = 0 } = row ?? {};
  const of = (state: ObjectState): readonly [number, number, number] => row?.objects?.[state] ?? [0, 0, 0];
  const [reserved] = of('reserved');
  const [committed, committedBytes, liveBytes] = of('committed');
  const [deleting, deletingBytes] = of('deleting');
  const [gone] = of('gone');
  return {
    streams: streamCount,
    runs: runCount,
    jobs: jobCount,
    objects: { reserved, committed, deleting, gone },
    committedBytes,
    liveBytes,
    deletingBytes,
    now,
  };
}
