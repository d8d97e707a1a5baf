/** Questions about streams and their runs: one statement each, so that an answer is of one moment. */
import { required } from '../../base/assert.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import type { StreamDescription } from '../../record/stream-config.ts';
import { checkConfig } from '../commands/checks.ts';
import type { FindLimits, FlushedSlot, FoundRun, FoundRuns, StreamTotals } from '../coordinator.ts';
import type { Database } from './database.ts';
import { FAR } from './loader.ts';
import { foundRunOf, type RunRecord, type StreamRecord } from './records.ts';

/** A run with the key of its object. */
export type KeyedRun = RunRecord & { readonly key: string };

/** One answer holds no more runs than this, whatever was asked for: the caller asks again behind the last one. */
const RUNS_MAX = 10_000;

export async function describeStreams(database: Database, name?: string): Promise<StreamDescription[]> {
  if (name?.includes('\0') === true) return [];
  const condition = name === undefined ? '' : 'WHERE name = $1';
  const text = `SELECT stream_id, name, config FROM ${database.tables.streams} ${condition} ORDER BY stream_id`;
  const rows = await database.read((session) => {
    return session.rows<Pick<StreamRecord, 'stream_id' | 'name' | 'config'>>(text, name === undefined ? [] : [name]);
  });
  // A name that is no well-formed text arrives as another one.
  const named = rows.filter((row) => name === undefined || row.name === name);
  return named.map((row) => ({ streamId: row.stream_id, name: row.name, config: checkConfig(row.config) }));
}

/** A run, or nulls, beside what is asked of its stream. */
interface FoundRow extends KeyedRun {
  readonly log_start: number;
  readonly watermark: number;
  readonly stream_epoch: number;
}

/**
 * Walks from run to run along the covering index and stops at the limits: the cost is the result's, however long the
 * stream is. Offsets that are covered end in ascending order, so that each step is one descent.
 */
export async function findRuns(
  database: Database,
  streamId: number,
  fromOffset: number,
  { maxRuns, maxBytes }: FindLimits,
): Promise<FoundRuns> {
  const { streams, runs, objects } = database.tables;
  const next = (condition: string): string => `
    SELECT run.* FROM ${runs} AS run
    WHERE run.stream_id = $1 AND ${condition} AND end_offset > run.first_offset ORDER BY end_offset, position LIMIT 1`;
  const text = `
    WITH RECURSIVE stream AS (SELECT first_offset, next_offset, epoch FROM ${streams} WHERE stream_id = $1),
    walk AS (
      SELECT found.*, found.byte_length AS bytes, 1 AS count FROM stream CROSS JOIN LATERAL (
        ${next('end_offset > greatest($2, stream.first_offset)')}
      ) AS found WHERE $3 > 0
      UNION ALL
      SELECT found.*, walk.bytes + found.byte_length, walk.count + 1 FROM walk CROSS JOIN LATERAL (
        ${next('end_offset > walk.end_offset')}
      ) AS found WHERE walk.count < $3 AND walk.bytes < $4
    )
    SELECT stream.first_offset AS log_start, stream.next_offset AS watermark, stream.epoch AS stream_epoch, walk.*, key
    FROM stream LEFT JOIN walk ON true LEFT JOIN ${objects} ON number = walk.object_number ORDER BY walk.count`;
  const limits = [bounded(maxRuns, RUNS_MAX), bounded(maxBytes)];
  const rows = await database.read((session) => {
    return session.rows<FoundRow>(text, [storableId(streamId), bounded(fromOffset), ...limits]);
  });
  const [head] = rows;
  if (head === undefined) throw notFound(streamId);
  // A stream without an answer is one row of nulls.
  const found = rows.filter((row) => (row.object_number as number | null) !== null);
  const { log_start: firstOffset, watermark: nextOffset, stream_epoch: epoch } = head;
  return { firstOffset, nextOffset, epoch, runs: found.map(toFoundRun) };
}

export async function findTrackingRuns(database: Database, streamId: number): Promise<FoundRun[]> {
  const { streams, runs, objects } = database.tables;
  const text = `
    SELECT run.*, key FROM ${streams} AS stream
    LEFT JOIN ${runs} AS run ON run.stream_id = stream.stream_id
      AND (tracking_snapshot OR run.tracking_bytes > 0)
      AND position >= coalesce(
        (SELECT max(position) FROM ${runs} WHERE stream_id = $1 AND tracking_snapshot),
        0
      )
    LEFT JOIN ${objects} ON number = object_number
    WHERE stream.stream_id = $1 ORDER BY position`;
  const rows = await database.read((session) => session.rows<KeyedRun>(text, [storableId(streamId)]));
  if (rows.length === 0) throw notFound(streamId);
  return rows.filter((row) => (row.object_number as number | null) !== null).map(toFoundRun);
}

/** In the order of offsets: timestamps need not ascend with them. */
export async function listOffsets(
  database: Database,
  streamId: number,
  timestamp: number,
): Promise<number | undefined> {
  const { streams, runs } = database.tables;
  const text = `
    SELECT (
      SELECT greatest(run.first_offset, stream.first_offset) FROM ${runs} AS run
      WHERE run.stream_id = $1 AND end_offset > stream.first_offset AND run.records > 0 AND last_timestamp >= $2
      ORDER BY end_offset, position LIMIT 1
    ) AS found FROM ${streams} AS stream WHERE stream_id = $1`;
  const least = Math.max(-FAR, Math.min(FAR, Math.ceil(timestamp)));
  const [row] = await database.read((session) => {
    return session.rows<{ found: number | null }>(text, [storableId(streamId), least]);
  });
  if (row === undefined) throw notFound(streamId);
  return row.found ?? undefined;
}

interface TotalsRow extends StreamRecord {
  readonly runs: number;
  readonly segments: number;
  readonly least_timestamp: number | null;
  readonly greatest_timestamp: number | null;
  readonly records_below: number | null;
}

/** Sums are kept with the stream; what has to be looked for is counted here. */
export async function streamTotals(database: Database, streamId: number): Promise<StreamTotals> {
  const { streams, runs } = database.tables;
  const text = `
    SELECT stream.*, seen.*, (
      SELECT stream.first_offset - run.first_offset FROM ${runs} AS run
      WHERE run.stream_id = $1 AND end_offset > stream.first_offset AND run.first_offset < stream.first_offset
        AND run.records = run.next_offset - run.first_offset
      ORDER BY end_offset, position LIMIT 1
    ) AS records_below
    FROM ${streams} AS stream CROSS JOIN LATERAL (
      SELECT count(*) AS runs, count(DISTINCT object_number) AS segments,
        min(first_timestamp) FILTER (WHERE run.records > 0) AS least_timestamp,
        max(last_timestamp) FILTER (WHERE run.records > 0) AS greatest_timestamp
      FROM ${runs} AS run WHERE run.stream_id = $1 AND end_offset >= stream.first_offset
        AND NOT (end_offset <= stream.first_offset AND run.first_offset < stream.first_offset)
    ) AS seen WHERE stream_id = $1`;
  const [row] = await database.read((session) => session.rows<TotalsRow>(text, [storableId(streamId)]));
  if (row === undefined) throw notFound(streamId);
  return {
    firstOffset: row.first_offset,
    nextOffset: row.next_offset,
    epoch: row.epoch,
    records: row.records - (row.records_below ?? 0),
    userBytes: row.user_bytes,
    trackingBytes: row.tracking_bytes,
    storedBytes: row.stored_bytes,
    runs: row.runs,
    segments: row.segments,
    firstTimestamp: row.least_timestamp ?? undefined,
    lastTimestamp: row.greatest_timestamp ?? undefined,
    heldBytes: row.held_bytes,
  };
}

export function toFoundRun(run: KeyedRun): FoundRun {
  return foundRunOf(run, required(run.key, 'a live run lies in an object'));
}

/** 0 is no stream's id. */
export function storableId(streamId: number): number {
  return Number.isSafeInteger(streamId) ? streamId : 0;
}

/** A limit or an offset as a column can hold it. */
function bounded(value: number, most: number = FAR): number {
  return Math.max(0, Math.min(most, Math.floor(value)));
}

export function notFound(streamId: number): MillraceError {
  return new MillraceError('ERR_MILLRACE_STREAM_NOT_FOUND', `there is no stream with id ${streamId}`, {
    details: { streamId },
  });
}

export function flushedSlots(database: Database): Promise<FlushedSlot[]> {
  const text = `SELECT lane, slot_sequence AS "slotSequence", block_sequence AS "blockSequence"
    FROM ${database.tables.lanes} ORDER BY lane`;
  return database.read((session) => session.rows<FlushedSlot>(text));
}
