/** Rows of the coordinator's state other than runs. Only `apply` changes them. */
import type { ObjectState, PublisherMark } from '../coordinator.ts';
import type { JobKind } from '../job.ts';
import type { StreamConfig } from '../../record/stream-config.ts';
import { NO_ROW } from './run-table.ts';
import type { ObjectCounts } from './object-counts.ts';
import { RunList } from './run-list.ts';
import type { RunTimes } from './run-times.ts';

export interface StreamRow {
  readonly streamId: number;
  readonly name: string;
  config: StreamConfig;
  /** Live runs in offset order: they tile [first offset of the first, `nextOffset`). */
  readonly runs: RunList;
  /** Made for those who ask: most streams are never asked for what they know. */
  times: RunTimes | undefined;
  objectCounts: ObjectCounts | undefined;
  /** How many runs at the front lie wholly below the log start, kept for their tracking alone. */
  heldRuns: number;
  /** Of them, their stored bytes. */
  heldBytes: number;
  /** Log start. */
  firstOffset: number;
  /** High watermark. */
  nextOffset: number;
  epoch: number;
  /** Sums over the runs that are not held; a run that the log start cuts counts whole. */
  records: number;
  userBytes: number;
  trackingBytes: number;
  storedBytes: number;
  /** Live runs, held ones too, that begin with a snapshot; and those with tracking bytes. */
  snapshotRuns: number;
  trackingRuns: number;
  /** Offsets of consumers by reference; those below the log start count as gone. */
  readonly consumers: Map<string, number>;
  /** By reference. */
  readonly publishers: Map<string, PublisherMark>;
  /** How many publishers there are, loaded or not. */
  publisherCount: number;
}

export function newStreamRow(streamId: number, name: string, config: StreamConfig): StreamRow {
  return {
    streamId,
    name,
    config,
    runs: new RunList(),
    times: undefined,
    objectCounts: undefined,
    heldRuns: 0,
    heldBytes: 0,
    firstOffset: 0,
    nextOffset: 0,
    epoch: 0,
    records: 0,
    userBytes: 0,
    trackingBytes: 0,
    storedBytes: 0,
    snapshotRuns: 0,
    trackingRuns: 0,
    consumers: new Map(),
    publishers: new Map(),
    publisherCount: 0,
  };
}

export const ANSWER_DELETED = -1;
export const ANSWER_REFUSED = -2;

export interface ObjectRow {
  readonly number: number;
  readonly nonce: number;
  state: ObjectState;
  /** Time of the last change of state; of a reserved object, its deadline. */
  stateAt: number;
  /** 0: never committed. */
  committedAt: number;
  bytes: number;
  checksum: string;
  generation: number;
  firstTimestamp: number;
  lastTimestamp: number;
  liveBytes: number;
  liveRuns: number;
  liveTrackingBytes: number;
  rewriteBy: number | undefined;
  jobId: number | undefined;
  /** Ends of the list of its live runs, in no order. */
  firstRun: number;
  lastRun: number;
  /**
   * First offsets that the commit answered, `ANSWER_DELETED` for runs of deleted streams and `ANSWER_REFUSED` for
   * refused ones; `undefined` when it answered what was asked, so that the usual case keeps nothing.
   */
  answer: readonly number[] | undefined;
}

export function newObjectRow(number: number, nonce: number, deadline: number): ObjectRow {
  return {
    number,
    nonce,
    state: 'reserved',
    stateAt: deadline,
    committedAt: 0,
    bytes: 0,
    checksum: '',
    generation: 0,
    firstTimestamp: 0,
    lastTimestamp: 0,
    liveBytes: 0,
    liveRuns: 0,
    liveTrackingBytes: 0,
    rewriteBy: undefined,
    jobId: undefined,
    firstRun: NO_ROW,
    lastRun: NO_ROW,
    answer: undefined,
  };
}

export interface JobRow {
  readonly jobId: number;
  readonly token: string;
  readonly kind: JobKind;
  readonly worker: string;
  readonly claimedAt: number;
  leaseUntil: number;
  /** Object numbers, in the order of the plan. */
  readonly inputs: readonly number[];
}

/** A committed job, remembered so that a repeated commit gets its answer. */
export interface FinishedJob {
  readonly jobId: number;
  readonly token: string;
  readonly finishedAt: number;
}
