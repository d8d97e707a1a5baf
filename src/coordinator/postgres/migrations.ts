/**
 * The schema, as the steps that lead to it. A step that has been released never changes: what comes later is a new
 * step. `docs/formats/postgres.md` describes the columns.
 */
import type { Tables } from './tables.ts';

/** Returns statements to run in one transaction. */
export type Migration = (tables: Tables) => string;

/** The clock has this many rows, so that transactions rarely wait for each other to advance it. */
export const CLOCK_ROWS = 16;

/** Number i leads to version i + 1. */
export const MIGRATIONS: readonly Migration[] = [createTables, createReferences, addPause];

function createTables(tables: Tables): string {
  return [
    createTime(tables),
    createStreams(tables),
    createObjects(tables),
    createRuns(tables),
    createJobs(tables),
  ].join('');
}

/** Rows that every transaction rewrites get room on their page, so that no index and no other page is touched. */
function createTime({ clock, counters, wall_clock }: Tables): string {
  return `
    CREATE FUNCTION ${wall_clock}() RETURNS bigint LANGUAGE sql VOLATILE
      AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;
    CREATE TABLE ${clock} (
      slot integer PRIMARY KEY,
      now bigint NOT NULL
    ) WITH (fillfactor = 10);
    INSERT INTO ${clock} SELECT slot, 1 FROM generate_series(0, ${CLOCK_ROWS - 1}) AS slot;
    CREATE TABLE ${counters} (
      name text PRIMARY KEY,
      next bigint NOT NULL CHECK (next > 0)
    ) WITH (fillfactor = 10);
    INSERT INTO ${counters} VALUES ('stream', 1), ('object', 1), ('job', 1);
  `;
}

function createStreams({ streams }: Tables): string {
  return `
    CREATE TABLE ${streams} (
      stream_id bigint PRIMARY KEY,
      name text NOT NULL UNIQUE,
      config jsonb NOT NULL,
      first_offset bigint NOT NULL,
      next_offset bigint NOT NULL,
      epoch bigint NOT NULL,
      next_position bigint NOT NULL,
      held_runs bigint NOT NULL,
      held_bytes bigint NOT NULL,
      records bigint NOT NULL,
      user_bytes bigint NOT NULL,
      tracking_bytes bigint NOT NULL,
      stored_bytes bigint NOT NULL,
      snapshot_runs bigint NOT NULL,
      tracking_runs bigint NOT NULL,
      CHECK (0 <= first_offset AND first_offset <= next_offset)
    ) WITH (fillfactor = 70);
  `;
}

/** A large table is vacuumed by its changes, not by a fifth of its size, and its partial indexes follow the states. */
function createObjects({ objects }: Tables): string {
  return `
    CREATE TABLE ${objects} (
      number bigint PRIMARY KEY,
      key text COLLATE "C" NOT NULL UNIQUE,
      state text NOT NULL CHECK (state IN ('reserved', 'committed', 'deleting', 'gone')),
      state_at bigint NOT NULL,
      committed_at bigint NOT NULL,
      bytes bigint NOT NULL,
      checksum text NOT NULL,
      generation integer NOT NULL,
      first_timestamp bigint NOT NULL,
      last_timestamp bigint NOT NULL,
      live_bytes bigint NOT NULL CHECK (live_bytes BETWEEN 0 AND bytes),
      live_runs bigint NOT NULL,
      live_tracking_bytes bigint NOT NULL,
      rewrite_by bigint,
      answer bigint[],
      CHECK ((state = 'committed') = (live_bytes > 0)),
      CHECK ((live_bytes > 0) = (live_runs > 0))
    ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000);
    CREATE INDEX objects_committed ON ${objects} (number) WHERE state = 'committed';
    CREATE INDEX objects_reserved ON ${objects} (state_at, number) WHERE state = 'reserved';
    CREATE INDEX objects_deleting ON ${objects} (state_at, number) WHERE state = 'deleting';
    CREATE INDEX objects_gone ON ${objects} (state_at, number) WHERE state = 'gone';
  `;
}

/** The covering index answers a read without visiting the table, in the order of the stream. */
function createRuns({ runs, streams, objects }: Tables): string {
  return `
    CREATE TABLE ${runs} (
      object_number bigint NOT NULL REFERENCES ${objects},
      byte_offset bigint NOT NULL,
      stream_id bigint NOT NULL REFERENCES ${streams},
      position bigint NOT NULL,
      first_offset bigint NOT NULL,
      next_offset bigint NOT NULL,
      end_offset bigint NOT NULL CHECK (end_offset <= next_offset),
      records bigint NOT NULL,
      user_bytes bigint NOT NULL,
      tracking_bytes bigint NOT NULL,
      first_timestamp bigint NOT NULL,
      last_timestamp bigint NOT NULL,
      epoch bigint NOT NULL,
      byte_length bigint NOT NULL CHECK (byte_length > 0),
      chunks bigint NOT NULL,
      tracking_snapshot boolean NOT NULL,
      PRIMARY KEY (object_number, byte_offset)
    ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000);
    CREATE UNIQUE INDEX runs_position ON ${runs} (stream_id, position);
    CREATE INDEX runs_offset ON ${runs} (stream_id, end_offset, position) INCLUDE (
      object_number, byte_offset, first_offset, next_offset, records, user_bytes, tracking_bytes,
      first_timestamp, last_timestamp, epoch, byte_length, chunks, tracking_snapshot
    );
    CREATE INDEX runs_snapshot ON ${runs} (stream_id, position) WHERE tracking_snapshot;
    CREATE INDEX runs_tracking ON ${runs} (stream_id, position) WHERE tracking_bytes > 0;
  `;
}

/** An input outlives its object's row when a job holds on to what has long been deleted: no reference to objects. */
function createJobs({ jobs, job_inputs, finished_jobs, lanes }: Tables): string {
  return `
    CREATE TABLE ${jobs} (
      job_id bigint PRIMARY KEY,
      token text NOT NULL UNIQUE,
      kind text NOT NULL,
      worker text NOT NULL,
      claimed_at bigint NOT NULL,
      lease_until bigint NOT NULL
    );
    CREATE INDEX jobs_lease ON ${jobs} (lease_until);
    CREATE TABLE ${job_inputs} (
      object_number bigint PRIMARY KEY,
      job_id bigint NOT NULL REFERENCES ${jobs} ON DELETE CASCADE,
      ordinal bigint NOT NULL
    );
    CREATE INDEX job_inputs_job ON ${job_inputs} (job_id, ordinal);
    CREATE TABLE ${finished_jobs} (
      job_id bigint PRIMARY KEY,
      token text NOT NULL,
      finished_at bigint NOT NULL
    );
    CREATE INDEX finished_jobs_finished ON ${finished_jobs} (finished_at);
    CREATE TABLE ${lanes} (
      lane integer PRIMARY KEY,
      slot_sequence bigint NOT NULL,
      block_sequence bigint NOT NULL
    );
  `;
}

/** Consumers and publishers of stores without a WAL, and the id that all objects of the store carry. */
function createReferences({ streams, consumer_offsets, publisher_marks, store }: Tables): string {
  return `
    CREATE TABLE ${consumer_offsets} (
      stream_id bigint NOT NULL REFERENCES ${streams} ON DELETE CASCADE,
      reference text COLLATE "C" NOT NULL,
      stored_offset bigint NOT NULL,
      PRIMARY KEY (stream_id, reference)
    ) WITH (fillfactor = 70);
    CREATE TABLE ${publisher_marks} (
      stream_id bigint NOT NULL REFERENCES ${streams} ON DELETE CASCADE,
      reference text COLLATE "C" NOT NULL,
      publishing_id bigint NOT NULL,
      marked_offset bigint NOT NULL,
      PRIMARY KEY (stream_id, reference)
    ) WITH (fillfactor = 70);
    ALTER TABLE ${streams} ADD COLUMN publishers bigint NOT NULL DEFAULT 0;
    CREATE TABLE ${store} (
      id bytea NOT NULL CHECK (length(id) = 16)
    );
    INSERT INTO ${store} VALUES (decode(replace(gen_random_uuid()::text, '-', ''), 'hex'));
  `;
}

function addPause({ store }: Tables): string {
  return `ALTER TABLE ${store} ADD COLUMN compaction_paused boolean NOT NULL DEFAULT false;`;
}
