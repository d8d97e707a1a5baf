/** Fills an excerpt from the tables, taking the locks on the way. */
import { assert } from '../../base/assert.ts';
import { PUBLISHERS_MAX } from '../../limits/limits.ts';
import type { JobRow } from '../state/rows.ts';
import { Excerpt } from './excerpt.ts';
import {
  jobRowOf,
  type ConsumerRecord,
  type JobInputRecord,
  type JobRecord,
  type ObjectRecord,
  type PublisherRecord,
  type RunRecord,
  type StreamRecord,
} from './records.ts';
import type { Session } from './session.ts';
import type { Tables } from './tables.ts';
import { windowQuery } from './window-query.ts';

type Counter = 'stream' | 'object' | 'job';

/** Behind every position and offset. */
export const FAR: number = Number.MAX_SAFE_INTEGER;

export class Loader {
  readonly session: Session;
  readonly tables: Tables;
  readonly excerpt: Excerpt = new Excerpt();
  /** Something was written while loading. */
  wrote = false;
  /** How far down the order of locks this transaction is. */
  #rank = 0;

  constructor(session: Session, tables: Tables) {
    this.session = session;
    this.tables = tables;
  }

  /** Every transaction takes its locks in one order, or two of them could wait for each other. */
  #enter(rank: number): void {
    assert(rank >= this.#rank, 'locks are taken in the order streams, objects, jobs, lanes, counters');
    this.#rank = rank;
  }

  /** Locks those of the streams that exist. */
  async lockStreams(ids: Iterable<number>): Promise<void> {
    this.#enter(1);
    for (const record of await this.#streams(ids, 'FOR UPDATE')) {
      this.excerpt.addStream(record);
      this.excerpt.lockedStreams.add(record.stream_id);
    }
  }

  /** Streams that are looked at only. */
  async readStreams(ids: Iterable<number>): Promise<void> {
    for (const record of await this.#streams(ids, '')) this.excerpt.addStream(record);
  }

  async #streams(ids: Iterable<number>, lock: string): Promise<StreamRecord[]> {
    const wanted = storable(ids);
    if (wanted.length === 0) return [];
    const text = `SELECT * FROM ${this.tables.streams} WHERE stream_id = ANY ($1::bigint[]) ORDER BY stream_id ${lock}`;
    return this.session.rows<StreamRecord>(text, [wanted]);
  }

  /** Locks those of the objects that exist; with `skipLocked`, those that nobody else is changing. */
  async lockObjects(numbers: Iterable<number>, skipLocked = false): Promise<void> {
    this.#enter(2);
    const wanted = storable(numbers);
    if (wanted.length === 0) return;
    const { objects } = this.tables;
    const lock = skipLocked ? 'FOR UPDATE SKIP LOCKED' : 'FOR UPDATE';
    const text = `SELECT * FROM ${objects} WHERE number = ANY ($1::bigint[]) ORDER BY number ${lock}`;
    for (const record of await this.session.rows<ObjectRecord>(text, [wanted])) {
      this.excerpt.addObject(record);
      this.excerpt.lockedObjects.add(record.number);
    }
  }

  /**
   * Loads the list of a locked stream: the runs at positions `from` to `to`, and those that any command may look at
   * beside them (see `windowQuery`).
   */
  async loadList(streamId: number, from: number, to: number): Promise<void> {
    assert(this.excerpt.lockedStreams.has(streamId), 'a list is read under the lock of its stream');
    const records = await this.session.rows<RunRecord>(windowQuery(this.tables), [streamId, from, to]);
    this.excerpt.addList(streamId, records);
  }

  /** Loads the consumers of a locked stream. */
  async loadConsumers(streamId: number): Promise<void> {
    assert(this.excerpt.lockedStreams.has(streamId), 'consumers are read under the lock of their stream');
    const text = `SELECT * FROM ${this.tables.consumer_offsets} WHERE stream_id = $1`;
    for (const { reference, stored_offset } of await this.session.rows<ConsumerRecord>(text, [streamId])) {
      this.excerpt.state.stream(streamId).consumers.set(reference, stored_offset);
    }
  }

  /** Loads publishers of a locked stream: those named, and as many that would have to make room for them. */
  async loadPublishers(streamId: number, references: readonly string[]): Promise<void> {
    assert(this.excerpt.lockedStreams.has(streamId), 'publishers are read under the lock of their stream');
    const stream = this.excerpt.state.stream(streamId);
    const excess = stream.publisherCount + references.length - PUBLISHERS_MAX;
    const { publisher_marks } = this.tables;
    const named = `SELECT * FROM ${publisher_marks} WHERE stream_id = $1 AND reference = ANY ($2::text[])`;
    const oldest = `SELECT * FROM ${publisher_marks} WHERE stream_id = $1 AND reference <> ALL ($2::text[])
      ORDER BY marked_offset LIMIT ${excess}`;
    const text = excess > 0 ? `(${named}) UNION ALL (${oldest})` : named;
    for (const mark of await this.session.rows<PublisherRecord>(text, [streamId, references])) {
      stream.publishers.set(mark.reference, { publishingId: mark.publishing_id, offset: mark.marked_offset });
    }
  }

  /** Loads all live runs of locked objects. */
  async loadRunsOf(numbers: Iterable<number>): Promise<void> {
    const text = `SELECT * FROM ${this.tables.runs} WHERE object_number = ANY ($1::bigint[])`;
    this.excerpt.addRuns(await this.session.rows<RunRecord>(text, [storable(numbers)]));
  }

  /** Locks jobs with their inputs; with `skipLocked`, those that nobody else is changing. */
  async lockJobs(ids: Iterable<number>, skipLocked = false): Promise<void> {
    this.#enter(3);
    const wanted = storable(ids);
    if (wanted.length === 0) return;
    const { jobs, job_inputs } = this.tables;
    const lock = skipLocked ? 'FOR UPDATE SKIP LOCKED' : 'FOR UPDATE';
    const records = await this.session.rows<JobRecord>(
      `SELECT * FROM ${jobs} WHERE job_id = ANY ($1::bigint[]) ORDER BY job_id ${lock}`,
      [wanted],
    );
    const inputs = await this.session.rows<JobInputRecord>(
      `SELECT * FROM ${job_inputs} WHERE job_id = ANY ($1::bigint[]) ORDER BY job_id, ordinal`,
      [records.map(({ job_id }) => job_id)],
    );
    const numbersOf = new Map<number, number[]>(records.map(({ job_id }) => [job_id, []]));
    for (const { job_id, object_number } of inputs) numbersOf.get(job_id)?.push(object_number);
    for (const record of records) this.#addJob(jobRowOf(record, numbersOf.get(record.job_id) ?? []));
  }

  #addJob(job: JobRow): void {
    const { state } = this.excerpt;
    state.jobs.set(job.jobId, job);
    for (const number of job.inputs) {
      const object = state.objects.get(number);
      if (object !== undefined) object.jobId = job.jobId;
    }
  }

  async loadFinishedJobs(ids: Iterable<number>): Promise<void> {
    const rows = await this.session.rows<{ job_id: number; token: string; finished_at: number }>(
      `SELECT * FROM ${this.tables.finished_jobs} WHERE job_id = ANY ($1::bigint[])
        ORDER BY finished_at, job_id FOR UPDATE`,
      [storable(ids)],
    );
    for (const { job_id: jobId, token, finished_at: finishedAt } of rows) {
      this.excerpt.state.finishedJobs.set(jobId, { jobId, token, finishedAt });
    }
  }

  /** A lane's first row has nothing to lock yet, so that the whole, small table is. */
  async lockLanes(): Promise<void> {
    this.#enter(4);
    await this.session.script(`LOCK TABLE ${this.tables.lanes} IN SHARE ROW EXCLUSIVE MODE`);
    const rows = await this.session.rows<{ lane: number; slot_sequence: number; block_sequence: number }>(
      `SELECT * FROM ${this.tables.lanes}`,
    );
    for (const { lane, slot_sequence: slotSequence, block_sequence: blockSequence } of rows) {
      this.excerpt.state.lanes.set(lane, { lane, slotSequence, blockSequence });
    }
  }

  /** Takes the right to hand out the next number. */
  async lockCounter(name: Counter): Promise<void> {
    this.#enter(5);
    await this.#counter(name, 'FOR UPDATE');
  }

  /** Enough for judging whether a number was ever handed out. */
  readCounter(name: Counter): Promise<void> {
    return this.#counter(name, '');
  }

  async #counter(name: Counter, lock: string): Promise<void> {
    const text = `SELECT next FROM ${this.tables.counters} WHERE name = $1 ${lock}`;
    const [row] = await this.session.rows<{ next: number }>(text, [name]);
    assert(row !== undefined, 'every counter has its row');
    const { state } = this.excerpt;
    if (name === 'stream') state.nextStreamId = row.next;
    else if (name === 'object') state.nextObjectNumber = row.next;
    else state.nextJobId = row.next;
  }
}

/** Numbers that a column can hold, each once: others name nothing. */
function storable(numbers: Iterable<number>): number[] {
  return [...new Set(numbers)].filter((number) => Number.isSafeInteger(number));
}
