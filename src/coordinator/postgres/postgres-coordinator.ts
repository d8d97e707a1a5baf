/**
 * The coordinator of a store that any number of processes share. Everything is in PostgreSQL: this holds no state but
 * its connections. Each operation is one short transaction, or several where a long one would keep others waiting.
 */
import { systemClock, type Clock } from '../../base/clock.ts';
import { systemRandom, type Random } from '../../base/random.ts';
import type { StreamConfig, StreamDescription } from '../../record/stream-config.ts';
import type { CoordinatorComponent } from '../component.ts';
import {
  COORDINATOR_TIMES_DEFAULT,
  type CommitAnswer,
  type Coordinator,
  type CoordinatorStats,
  type CoordinatorTimes,
  type Expired,
  type FindLimits,
  type FlushedSlot,
  type FoundRun,
  type FoundRuns,
  type KeyClass,
  type ObjectCommit,
  type ObjectDescription,
  type ObjectFilter,
  type PublisherMark,
  type Reservation,
  type RetentionResult,
  type StreamTotals,
  type Trimmed,
  type Truncation,
} from '../coordinator.ts';
import type { CommitJob, Job, JobAnswer, JobDescription, JobPlan } from '../job.ts';
import { openConnections } from './connections.ts';
import { Database } from './database.ts';
import { claim, finish, giveUp, renew } from './job-changes.ts';
import { prepareSchema } from './migrate.ts';
import { abort, advance, commit, confirm, expireAll, reserve } from './object-changes.ts';
import { classifyKeys, countAll, listJobs, listObjects, objectsToDelete, runsOfObject } from './object-queries.ts';
import { checkPostgresOptions, type PostgresOptions, type PostgresSettings } from './options.ts';
import { keepOffsets, publisherMark, trackedOffsets } from './references.ts';
import { keepRetention } from './retention.ts';
import { LONG_SILENCE } from './session.ts';
import { compactionPaused, readStoreId, setCompactionPaused } from './store-row.ts';
import { configure, makeStream, removeStream, trim, truncate } from './stream-changes.ts';
import {
  describeStreams,
  findRuns,
  findTrackingRuns,
  flushedSlots,
  listOffsets,
  streamTotals,
} from './stream-queries.ts';
import { tablesOf } from './tables.ts';
import { verify } from './verify.ts';

export interface PostgresEnvironment {
  readonly clock: Clock;
  readonly random: Random;
}

const SYSTEM: PostgresEnvironment = { clock: systemClock, random: systemRandom };

/** Checks the options now; connects when the store is opened. */
export function describePostgres(options: PostgresOptions): CoordinatorComponent {
  const settings = checkPostgresOptions(options);
  return { open: (times) => openPostgresCoordinator(settings, times) };
}

export async function openPostgresCoordinator(
  settings: PostgresSettings,
  times: Partial<CoordinatorTimes> = {},
  { clock, random }: PostgresEnvironment = SYSTEM,
): Promise<PostgresCoordinator> {
  const { schema, resolveTimeout, migrate } = settings;
  const tables = tablesOf(schema);
  const database = new Database({ ...openConnections(settings), tables, schema, resolveTimeout, clock, random });
  try {
    await database.read((session) => prepareSchema(session, schema, tables, migrate), LONG_SILENCE);
    const storeId = await readStoreId(database);
    return new PostgresCoordinator(storeId, database, random, { ...COORDINATOR_TIMES_DEFAULT, ...times });
  } catch (error) {
    await database.close();
    throw error;
  }
}

export class PostgresCoordinator implements Coordinator {
  readonly storeId: Uint8Array;
  readonly #database: Database;
  readonly #random: Random;
  readonly #times: CoordinatorTimes;

  constructor(storeId: Uint8Array, database: Database, random: Random, times: CoordinatorTimes) {
    this.storeId = storeId;
    this.#database = database;
    this.#random = random;
    this.#times = times;
  }

  createStream(name: string, config: StreamConfig): Promise<{ stream: StreamDescription; created: boolean }> {
    return makeStream(this.#database, name, config);
  }

  configureStream(streamId: number, config: StreamConfig): Promise<StreamDescription> {
    return configure(this.#database, streamId, config);
  }

  deleteStream(streamId: number): Promise<boolean> {
    return removeStream(this.#database, streamId);
  }

  async findStream(name: string): Promise<StreamDescription | undefined> {
    const [stream] = await describeStreams(this.#database, name);
    return stream;
  }

  streams(): Promise<StreamDescription[]> {
    return describeStreams(this.#database);
  }

  reserveObjects(count: number): Promise<Reservation> {
    return reserve(this.#database, count, this.#random, this.#times);
  }

  commitObject(object: ObjectCommit): Promise<CommitAnswer> {
    return commit(this.#database, object);
  }

  abortObject(key: string): Promise<boolean> {
    return abort(this.#database, key);
  }

  flushedSlots(): Promise<FlushedSlot[]> {
    return flushedSlots(this.#database);
  }

  advanceFlushed(slot: FlushedSlot): Promise<void> {
    return advance(this.#database, slot);
  }

  findRuns(streamId: number, fromOffset: number, limits: FindLimits): Promise<FoundRuns> {
    return findRuns(this.#database, streamId, fromOffset, limits);
  }

  findTrackingRuns(streamId: number): Promise<FoundRun[]> {
    return findTrackingRuns(this.#database, streamId);
  }

  listOffsets(streamId: number, timestamp: number): Promise<number | undefined> {
    return listOffsets(this.#database, streamId, timestamp);
  }

  streamTotals(streamId: number): Promise<StreamTotals> {
    return streamTotals(this.#database, streamId);
  }

  storeOffsets(streamId: number, offsets: ReadonlyMap<string, number | undefined>): Promise<void> {
    return keepOffsets(this.#database, streamId, offsets);
  }

  trackedOffsets(streamId: number): Promise<Map<string, number>> {
    return trackedOffsets(this.#database, streamId);
  }

  publisherMark(streamId: number, reference: string): Promise<PublisherMark | undefined> {
    return publisherMark(this.#database, streamId, reference);
  }

  trim(streamId: number, beforeOffset: number): Promise<Trimmed> {
    return trim(this.#database, streamId, beforeOffset);
  }

  enforceRetention(streamId?: number, limits?: { readonly maxRuns?: number }): Promise<RetentionResult> {
    return keepRetention(this.#database, streamId, limits);
  }

  truncateStream(truncation: Truncation): Promise<void> {
    return truncate(this.#database, truncation);
  }

  listObjects(filter: ObjectFilter): Promise<ObjectDescription[]> {
    return listObjects(this.#database, filter);
  }

  objectRuns(key: string): Promise<FoundRun[]> {
    return runsOfObject(this.#database, key);
  }

  claimJob(worker: string, plan: JobPlan, leaseMs: number): Promise<Job | undefined> {
    return claim(this.#database, worker, plan, leaseMs, this.#random);
  }

  renewJob(jobId: number, token: string, leaseMs: number): Promise<boolean> {
    return renew(this.#database, jobId, token, leaseMs);
  }

  commitJob(job: CommitJob): Promise<JobAnswer> {
    return finish(this.#database, job);
  }

  releaseJob(jobId: number, token: string): Promise<boolean> {
    return giveUp(this.#database, jobId, token);
  }

  jobs(): Promise<JobDescription[]> {
    return listJobs(this.#database);
  }

  objectsToDelete(limit: number): Promise<string[]> {
    return objectsToDelete(this.#database, limit, this.#times);
  }

  confirmDeleted(keys: readonly string[]): Promise<number> {
    return confirm(this.#database, keys);
  }

  classifyKeys(keys: readonly string[]): Promise<KeyClass[]> {
    return classifyKeys(this.#database, keys);
  }

  expire(): Promise<Expired> {
    return expireAll(this.#database, this.#times);
  }

  compactionPaused(): Promise<boolean> {
    return compactionPaused(this.#database);
  }

  setCompactionPaused(paused: boolean): Promise<void> {
    return setCompactionPaused(this.#database, paused);
  }

  /** Reads always see what is committed. */
  async refresh(): Promise<void> {}

  stats(): Promise<CoordinatorStats> {
    return countAll(this.#database);
  }

  verify(): Promise<string[]> {
    return verify(this.#database);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
