/** Rows of the tables as the driver reads and writes them, and their twins in the state. */
import { checkConfig } from '../commands/checks.ts';
import type { FoundRun, ObjectState } from '../coordinator.ts';
import type { JobKind } from '../job.ts';
import { parseObjectKey } from '../object-key.ts';
import type { KeptRun } from '../runs.ts';
import { newObjectRow, newStreamRow, type JobRow, type ObjectRow, type StreamRow } from '../state/rows.ts';
import { RUN } from '../state/run-table.ts';
import { keyOf, type State } from '../state/state.ts';
import { required } from '../../base/assert.ts';
import type { StreamConfig } from '../../record/stream-config.ts';

export interface StreamRecord {
  readonly stream_id: number;
  readonly name: string;
  readonly config: StreamConfig;
  readonly first_offset: number;
  readonly next_offset: number;
  readonly epoch: number;
  /** Position of the next run at the end of the stream's list. */
  readonly next_position: number;
  readonly held_runs: number;
  readonly held_bytes: number;
  readonly records: number;
  readonly user_bytes: number;
  readonly tracking_bytes: number;
  readonly stored_bytes: number;
  readonly snapshot_runs: number;
  readonly tracking_runs: number;
  readonly publishers: number;
}

export interface ConsumerRecord {
  readonly stream_id: number;
  readonly reference: string;
  readonly stored_offset: number;
}

export interface PublisherRecord {
  readonly stream_id: number;
  readonly reference: string;
  readonly publishing_id: number;
  readonly marked_offset: number;
}

export interface ObjectRecord {
  readonly number: number;
  readonly key: string;
  readonly state: ObjectState;
  readonly state_at: number;
  readonly committed_at: number;
  readonly bytes: number;
  readonly checksum: string;
  readonly generation: number;
  readonly first_timestamp: number;
  readonly last_timestamp: number;
  readonly live_bytes: number;
  readonly live_runs: number;
  readonly live_tracking_bytes: number;
  readonly rewrite_by: number | null;
  readonly answer: readonly number[] | null;
}

export interface RunRecord {
  readonly object_number: number;
  readonly byte_offset: number;
  readonly stream_id: number;
  /** Place in the stream's list; a replacing run takes the place of its first parent. */
  readonly position: number;
  readonly first_offset: number;
  readonly next_offset: number;
  readonly end_offset: number;
  readonly records: number;
  readonly user_bytes: number;
  readonly tracking_bytes: number;
  readonly first_timestamp: number;
  readonly last_timestamp: number;
  readonly epoch: number;
  readonly byte_length: number;
  readonly chunks: number;
  readonly tracking_snapshot: boolean;
}

export interface JobRecord {
  readonly job_id: number;
  readonly token: string;
  readonly kind: JobKind;
  readonly worker: string;
  readonly claimed_at: number;
  readonly lease_until: number;
}

export interface JobInputRecord {
  readonly object_number: number;
  readonly job_id: number;
  readonly ordinal: number;
}

/** PostgreSQL stores every well-formed text but for one character. */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && Buffer.from(text).toString() === text;
}

export function streamRowOf(record: StreamRecord): StreamRow {
  return {
    ...newStreamRow(record.stream_id, record.name, checkConfig(record.config)),
    firstOffset: record.first_offset,
    nextOffset: record.next_offset,
    epoch: record.epoch,
    heldRuns: record.held_runs,
    heldBytes: record.held_bytes,
    records: record.records,
    userBytes: record.user_bytes,
    trackingBytes: record.tracking_bytes,
    storedBytes: record.stored_bytes,
    snapshotRuns: record.snapshot_runs,
    trackingRuns: record.tracking_runs,
    publisherCount: record.publishers,
  };
}

/** `heldElsewhere`: held runs that were not loaded, and so have not changed. */
export function streamRecordOf(stream: StreamRow, nextPosition: number, heldElsewhere: number): StreamRecord {
  return {
    stream_id: stream.streamId,
    name: stream.name,
    config: stream.config,
    first_offset: stream.firstOffset,
    next_offset: stream.nextOffset,
    epoch: stream.epoch,
    next_position: nextPosition,
    held_runs: stream.heldRuns + heldElsewhere,
    held_bytes: stream.heldBytes,
    records: stream.records,
    user_bytes: stream.userBytes,
    tracking_bytes: stream.trackingBytes,
    stored_bytes: stream.storedBytes,
    snapshot_runs: stream.snapshotRuns,
    tracking_runs: stream.trackingRuns,
    publishers: stream.publisherCount,
  };
}

export function objectRowOf(record: ObjectRecord): ObjectRow {
  const { nonce } = required(parseObjectKey(record.key), 'keys in the database were made here');
  return {
    ...newObjectRow(record.number, nonce, record.state_at),
    state: record.state,
    committedAt: record.committed_at,
    bytes: record.bytes,
    checksum: record.checksum,
    generation: record.generation,
    firstTimestamp: record.first_timestamp,
    lastTimestamp: record.last_timestamp,
    liveBytes: record.live_bytes,
    liveRuns: record.live_runs,
    liveTrackingBytes: record.live_tracking_bytes,
    rewriteBy: record.rewrite_by ?? undefined,
    answer: record.answer ?? undefined,
  };
}

export function objectRecordOf(object: ObjectRow): ObjectRecord {
  return {
    number: object.number,
    key: keyOf(object),
    state: object.state,
    state_at: object.stateAt,
    committed_at: object.committedAt,
    bytes: object.bytes,
    checksum: object.checksum,
    generation: object.generation,
    first_timestamp: object.firstTimestamp,
    last_timestamp: object.lastTimestamp,
    live_bytes: object.liveBytes,
    live_runs: object.liveRuns,
    live_tracking_bytes: object.liveTrackingBytes,
    rewrite_by: object.rewriteBy ?? null,
    answer: object.answer ?? null,
  };
}

export function runRecordOf({ runs }: State, row: number, position: number): RunRecord {
  return {
    object_number: runs.get(row, RUN.objectNumber),
    byte_offset: runs.get(row, RUN.byteOffset),
    stream_id: runs.get(row, RUN.streamId),
    position,
    first_offset: runs.get(row, RUN.firstOffset),
    next_offset: runs.get(row, RUN.nextOffset),
    end_offset: runs.get(row, RUN.endOffset),
    records: runs.get(row, RUN.records),
    user_bytes: runs.get(row, RUN.userBytes),
    tracking_bytes: runs.get(row, RUN.trackingBytes),
    first_timestamp: runs.get(row, RUN.firstTimestamp),
    last_timestamp: runs.get(row, RUN.lastTimestamp),
    epoch: runs.get(row, RUN.epoch),
    byte_length: runs.get(row, RUN.byteLength),
    chunks: runs.get(row, RUN.chunks),
    tracking_snapshot: runs.get(row, RUN.snapshot) === 1,
  };
}

/** A run as the coordinator keeps it. */
export function keptRunOf(record: RunRecord): KeptRun {
  return {
    streamId: record.stream_id,
    firstOffset: record.first_offset,
    nextOffset: record.next_offset,
    records: record.records,
    userBytes: record.user_bytes,
    trackingBytes: record.tracking_bytes,
    firstTimestamp: record.first_timestamp,
    lastTimestamp: record.last_timestamp,
    epoch: record.epoch,
    byteOffset: record.byte_offset,
    byteLength: record.byte_length,
    chunks: record.chunks,
    trackingSnapshot: record.tracking_snapshot,
  };
}

/** A run as readers get it. */
export function foundRunOf(record: RunRecord, objectKey: string): FoundRun {
  return Object.assign(keptRunOf(record), { endOffset: record.end_offset, objectKey });
}

export function jobRowOf(record: JobRecord, inputs: readonly number[]): JobRow {
  return {
    jobId: record.job_id,
    token: record.token,
    kind: record.kind,
    worker: record.worker,
    claimedAt: record.claimed_at,
    leaseUntil: record.lease_until,
    inputs,
  };
}

export function jobRecordOf(job: JobRow): JobRecord {
  return {
    job_id: job.jobId,
    token: job.token,
    kind: job.kind,
    worker: job.worker,
    claimed_at: job.claimedAt,
    lease_until: job.leaseUntil,
  };
}
