/** Changes of an object's state, with the totals that follow them. */
import { assert } from '../../base/assert.ts';
import type { ObjectState } from '../coordinator.ts';
import type { ObjectCommitted } from './event.ts';
import type { ObjectRow } from './rows.ts';
import type { State } from './state.ts';

/** A reserved object becomes committed, before its runs are added. */
export function markCommitted(
  state: State,
  object: ObjectRow,
  facts: Pick<ObjectCommitted, 'bytes' | 'checksum' | 'generation' | 'runs'>,
): void {
  assert(object.state === 'reserved', 'an object is committed once');
  object.bytes = facts.bytes;
  object.checksum = facts.checksum;
  object.generation = facts.generation;
  object.committedAt = state.now;
  let first = Infinity;
  let last = -Infinity;
  for (const run of facts.runs) {
    if (run.records === 0) continue;
    first = Math.min(first, run.firstTimestamp);
    last = Math.max(last, run.lastTimestamp);
  }
  object.firstTimestamp = first === Infinity ? 0 : first;
  object.lastTimestamp = last === -Infinity ? 0 : last;
  moveObject(state, object, 'committed', state.now);
}

/** An object without live bytes is deleting. */
export function settleObject(state: State, object: ObjectRow): void {
  assert(object.liveBytes >= 0 && (object.liveBytes === 0) === (object.liveRuns === 0), 'live bytes and runs agree');
  if (object.state === 'committed' && object.liveBytes === 0) moveObject(state, object, 'deleting', state.now);
}

export function moveObject(state: State, object: ObjectRow, to: ObjectState, at: number): void {
  countObject(state, object, -1);
  state.byState[object.state].delete(object);
  object.state = to;
  object.stateAt = at;
  state.byState[to].add(object);
  countObject(state, object, 1);
}

/** Adds (1) or takes away (-1) the object's bytes from the total of its state. */
export function countObject(state: State, object: ObjectRow, sign: 1 | -1): void {
  if (object.state === 'committed') state.committedBytes += sign * object.bytes;
  if (object.state === 'deleting') state.deletingBytes += sign * object.bytes;
}

/** Frees a job's inputs. */
export function endJob(state: State, jobId: number): void {
  for (const objectNumber of state.job(jobId).inputs) {
    // Gone already when all of it died meanwhile and the grace was short.
    const object = state.objects.get(objectNumber);
    if (object?.jobId === jobId) object.jobId = undefined;
  }
  state.jobs.delete(jobId);
}
