/** An excerpt as table rows, and what became different between two of them. */
import { assert } from '../../base/assert.ts';
import { RUN } from '../state/run-table.ts';
import { NO_ROW } from '../state/run-table.ts';
import type { State } from '../state/state.ts';
import { runKey, type Excerpt } from './excerpt.ts';
import {
  type ConsumerRecord,
  jobRecordOf,
  objectRecordOf,
  type PublisherRecord,
  runRecordOf,
  streamRecordOf,
  type JobInputRecord,
} from './records.ts';
import { STATE_TABLES, type StateTable } from './tables.ts';

/** Rows by primary key. */
type Rows = Map<string, object>;
export type Snapshot = Readonly<Record<StateTable, Rows>>;

export interface TableChange {
  readonly inserted: readonly object[];
  readonly updated: readonly object[];
  readonly deleted: readonly object[];
}
export type Changes = Readonly<Record<StateTable, TableChange>>;

export function snapshotOf(excerpt: Excerpt): Snapshot {
  const { state } = excerpt;
  return {
    counters: countersOf(state),
    streams: streamsOf(excerpt),
    objects: new Map([...state.objects].map(([number, object]) => [String(number), objectRecordOf(object)])),
    runs: runsOf(excerpt),
    jobs: new Map([...state.jobs].map(([jobId, job]) => [String(jobId), jobRecordOf(job)])),
    job_inputs: jobInputsOf(state),
    finished_jobs: new Map(
      [...state.finishedJobs].map(([jobId, { token, finishedAt }]) => {
        return [String(jobId), { job_id: jobId, token, finished_at: finishedAt }];
      }),
    ),
    lanes: new Map(
      [...state.lanes].map(([lane, { slotSequence, blockSequence }]) => {
        return [String(lane), { lane, slot_sequence: slotSequence, block_sequence: blockSequence }];
      }),
    ),
    consumer_offsets: consumersOf(state),
    publisher_marks: publishersOf(state),
  };
}

function consumersOf(state: State): Rows {
  const rows: Rows = new Map();
  for (const { streamId, consumers } of state.streams.values()) {
    for (const [reference, offset] of consumers) {
      const record: ConsumerRecord = { stream_id: streamId, reference, stored_offset: offset };
      rows.set(`${streamId}:${reference}`, record);
    }
  }
  return rows;
}

function publishersOf(state: State): Rows {
  const rows: Rows = new Map();
  for (const { streamId, publishers } of state.streams.values()) {
    for (const [reference, { publishingId, offset }] of publishers) {
      const mark = { publishing_id: publishingId, marked_offset: offset };
      const record: PublisherRecord = { stream_id: streamId, reference, ...mark };
      rows.set(`${streamId}:${reference}`, record);
    }
  }
  return rows;
}

function countersOf({ nextStreamId, nextObjectNumber, nextJobId }: State): Rows {
  return new Map([
    ['stream', { name: 'stream', next: nextStreamId }],
    ['object', { name: 'object', next: nextObjectNumber }],
    ['job', { name: 'job', next: nextJobId }],
  ]);
}

function streamsOf({ state, nextPositions, heldElsewhere }: Excerpt): Rows {
  const rows: Rows = new Map();
  for (const [streamId, stream] of state.streams) {
    const held = heldElsewhere.get(streamId) ?? 0;
    rows.set(String(streamId), streamRecordOf(stream, nextPositions.get(streamId) ?? 1, held));
  }
  return rows;
}

function runsOf({ state, positions }: Excerpt): Rows {
  const rows: Rows = new Map();
  for (const object of state.objects.values()) {
    for (let row = object.firstRun; row !== NO_ROW; row = state.runs.get(row, RUN.nextInObject)) {
      const key = runKey(object.number, state.runs.get(row, RUN.byteOffset));
      const position = positions.get(state.runs.get(row, RUN.streamId))?.get(key);
      assert(position !== undefined, 'every live run has its place in its stream');
      rows.set(key, runRecordOf(state, row, position));
    }
  }
  return rows;
}

function jobInputsOf(state: State): Rows {
  const rows: Rows = new Map();
  for (const { jobId, inputs } of state.jobs.values()) {
    for (const [ordinal, objectNumber] of inputs.entries()) {
      const record: JobInputRecord = { object_number: objectNumber, job_id: jobId, ordinal };
      rows.set(`${jobId}:${objectNumber}`, record);
    }
  }
  return rows;
}

export function changesBetween(before: Snapshot, after: Snapshot): Changes {
  const entries = STATE_TABLES.map((table) => [table, tableChange(before[table], after[table])]);
  return Object.fromEntries(entries) as Changes;
}

function tableChange(before: Rows, after: Rows): TableChange {
  const inserted: object[] = [];
  const updated: object[] = [];
  const deleted: object[] = [];
  for (const [key, record] of after) {
    const old = before.get(key);
    if (old === undefined) inserted.push(record);
    else if (JSON.stringify(old) !== JSON.stringify(record)) updated.push(record);
  }
  for (const [key, record] of before) if (!after.has(key)) deleted.push(record);
  return { inserted, updated, deleted };
}
