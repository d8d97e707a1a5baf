/**
 * Everything the coordinator knows, in memory. No clock, no I/O, no randomness: `apply` alone changes it, from events.
 */
import { required } from '../../base/assert.ts';
import type { FlushedSlot, ObjectState } from '../coordinator.ts';
import { formatObjectKey, parseObjectKey } from '../object-key.ts';
import type { FinishedJob, JobRow, ObjectRow, StreamRow } from './rows.ts';
import { RunTable } from './run-table.ts';

export class State {
  /** The coordinator's time; never less than before. It counts from 1, since rows say 0 for "never". */
  now = 1;
  nextStreamId = 1;
  nextObjectNumber = 1;
  nextJobId = 1;

  readonly runs: RunTable = new RunTable();
  readonly streams: Map<number, StreamRow> = new Map();
  readonly streamsByName: Map<string, StreamRow> = new Map();
  /** By ascending number: objects are inserted in that order. */
  readonly objects: Map<number, ObjectRow> = new Map();
  /**
   * Objects by state, in the order in which they entered it: for deleting and gone ones, where time cannot go back,
   * that is the order of their times.
   */
  readonly byState: Readonly<Record<ObjectState, Set<ObjectRow>>> = {
    reserved: new Set(),
    committed: new Set(),
    deleting: new Set(),
    gone: new Set(),
  };
  readonly jobs: Map<number, JobRow> = new Map();
  readonly finishedJobs: Map<number, FinishedJob> = new Map();
  /** By lane. */
  readonly lanes: Map<number, FlushedSlot> = new Map();
  committedBytes = 0;
  liveBytes = 0;
  deletingBytes = 0;

  stream(streamId: number): StreamRow {
    return required(this.streams.get(streamId), 'an event names an existing stream');
  }

  object(objectNumber: number): ObjectRow {
    return required(this.objects.get(objectNumber), 'an event names an existing object');
  }

  job(jobId: number): JobRow {
    return required(this.jobs.get(jobId), 'an event names an existing job');
  }

  /** The object of a key that was made here and is still remembered. */
  findObject(key: string): ObjectRow | undefined {
    const parts = parseObjectKey(key);
    if (parts === undefined) return undefined;
    const object = this.objects.get(parts.number);
    return object?.nonce === parts.nonce ? object : undefined;
  }
}

export function keyOf(object: ObjectRow): string {
  return formatObjectKey(object.number, object.nonce);
}
