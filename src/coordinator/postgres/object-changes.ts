/** Changes of objects: reserved, committed, given up, deleted. */
import { NONCE_BYTES, parseObjectKey } from '../object-key.ts';
import { checkTrackingReference } from '../commands/checks.ts';
import { commitObject } from '../commands/commit-object.ts';
import { abortObject, advanceFlushed, confirmDeleted, expire, reserveObjects } from '../commands/object-commands.ts';
import type {
  CommitAnswer,
  CoordinatorTimes,
  Expired,
  FlushedSlot,
  ObjectCommit,
  Reservation,
} from '../coordinator.ts';
import type { Random } from '../../base/random.ts';
import { change, readTime } from './change.ts';
import type { Database } from './database.ts';
import { FAR, type Loader } from './loader.ts';
import { loadTail } from './stream-places.ts';

/** Rows that one transaction of `expire` looks at, of each kind. */
const EXPIRE_AT_ONCE = 5_000;

export function reserve(
  database: Database,
  count: number,
  random: Random,
  times: CoordinatorTimes,
): Promise<Reservation> {
  const nonce = Buffer.from(random.bytes(NONCE_BYTES)).readUIntLE(0, NONCE_BYTES);
  return change(
    database,
    (loader) => loader.lockCounter('object'),
    (state) => reserveObjects(state, count, nonce, times),
  );
}

export function commit(database: Database, object: ObjectCommit): Promise<CommitAnswer> {
  return change(
    database,
    (loader) => loadForCommit(loader, object),
    (state) => commitObject(state, object),
  );
}

/**
 * Appending looks at no other run of a stream. Two things do: a truncation ends runs, and a new tracking snapshot ends
 * those that were held for the older one.
 */
async function loadForCommit(loader: Loader, { key, runs, truncations = [], wal }: ObjectCommit): Promise<void> {
  const streamIds = [...runs, ...truncations].map(({ streamId }) => streamId);
  await loader.lockStreams(streamIds);
  const { lockedStreams, heldElsewhere } = loader.excerpt;
  const cuts = new Map<number, number>();
  for (const { streamId, nextOffset } of truncations) {
    cuts.set(streamId, Math.min(nextOffset, cuts.get(streamId) ?? Infinity));
  }
  for (const [streamId, nextOffset] of cuts) await loadTail(loader, streamId, nextOffset);
  const withSnapshot = new Set(runs.filter((run) => run.trackingSnapshot === true).map(({ streamId }) => streamId));
  for (const streamId of withSnapshot) {
    const isHolding = lockedStreams.has(streamId) && (heldElsewhere.get(streamId) ?? 0) > 0;
    if (isHolding) await loader.loadList(streamId, FAR, FAR);
  }
  await loadPublishers(loader, runs);
  await loader.lockObjects([...loader.excerpt.objectNumbers(), ...numbersOf([key])]);
  if (wal !== undefined) await loader.lockLanes();
  await loader.readCounter('stream');
}

async function loadPublishers(loader: Loader, runs: ObjectCommit['runs']): Promise<void> {
  const named = new Map<number, string[]>();
  for (const { streamId, publishers = [] } of runs) {
    if (publishers.length === 0 || !loader.excerpt.lockedStreams.has(streamId)) continue;
    const references = publishers.map(({ reference }) => reference);
    for (const reference of references) checkTrackingReference(reference);
    named.set(streamId, [...(named.get(streamId) ?? []), ...references]);
  }
  for (const [streamId, references] of named) await loader.loadPublishers(streamId, references);
}

export function abort(database: Database, key: string): Promise<boolean> {
  return change(
    database,
    (loader) => loader.lockObjects(numbersOf([key])),
    (state) => abortObject(state, key),
  );
}

export function confirm(database: Database, keys: readonly string[]): Promise<number> {
  return change(
    database,
    (loader) => loader.lockObjects(numbersOf(keys)),
    (state) => confirmDeleted(state, keys),
  );
}

export function advance(database: Database, slot: FlushedSlot): Promise<void> {
  return change(
    database,
    (loader) => loader.lockLanes(),
    (state) => advanceFlushed(state, slot),
  );
}

/** Goes on until nothing is left, so that one call has the effect of one however much has expired. */
export async function expireAll(database: Database, times: CoordinatorTimes): Promise<Expired> {
  let sum: Expired = { reservations: 0, jobs: 0, tombstones: 0 };
  for (;;) {
    let found = false;
    const part = await change(
      database,
      async (loader) => {
        found = await loadExpired(loader, times);
      },
      (state) => expire(state, times),
    );
    sum = {
      reservations: sum.reservations + part.reservations,
      jobs: sum.jobs + part.jobs,
      tombstones: sum.tombstones + part.tombstones,
    };
    if (!found || part.reservations + part.jobs + part.tombstones === 0) return sum;
  }
}

/** Rows that somebody else is changing just now are left to the next call. Returns whether there may be more. */
async function loadExpired(loader: Loader, times: CoordinatorTimes): Promise<boolean> {
  const { objects, jobs, finished_jobs } = loader.tables;
  const now = await readTime(loader.session, loader.tables);
  const forgotten = now - times.tombstoneRetention;
  const ids = async (text: string, time: number): Promise<number[]> => {
    const rows = await loader.session.rows<{ id: number }>(`${text} LIMIT ${EXPIRE_AT_ONCE}`, [time]);
    return rows.map(({ id }) => id);
  };
  const old = (state: string): string => {
    return `SELECT number AS id FROM ${objects} WHERE state = '${state}' AND state_at <= $1 ORDER BY state_at, number`;
  };
  const reserved = await ids(old('reserved'), now);
  const gone = await ids(old('gone'), forgotten);
  const ended = await ids(`SELECT job_id AS id FROM ${jobs} WHERE lease_until <= $1 ORDER BY lease_until`, now);
  const finished = await ids(
    `SELECT job_id AS id FROM ${finished_jobs} WHERE finished_at <= $1 ORDER BY finished_at`,
    forgotten,
  );
  await loader.lockObjects([...reserved, ...gone], true);
  await loader.lockJobs(ended, true);
  await loader.loadFinishedJobs(finished);
  return [reserved, gone, ended, finished].some(({ length }) => length === EXPIRE_AT_ONCE);
}

/** The numbers in those of the keys that are well formed; whether the rest matches, the command judges. */
export function numbersOf(keys: readonly string[]): number[] {
  return keys.map(parseObjectKey).flatMap((parts) => (parts === undefined ? [] : [parts.number]));
}
