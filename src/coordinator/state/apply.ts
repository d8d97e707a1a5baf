/** Applies events. What can be wrong with an event was judged before it was written: here are asserts only. */
import { assert, assertNever } from '../../base/assert.ts';
import type { FlushedSlot } from '../coordinator.ts';
import { applyJobCommitted } from './apply-job.ts';
import type { JobClaimed, ObjectCommitted, ObjectsReserved, StateEvent, TombstonesForgotten } from './event.ts';
import { countObject, endJob, markCommitted, moveObject, settleObject } from './object-changes.ts';
import { newObjectRow, newStreamRow } from './rows.ts';
import { addRun } from './run-links.ts';
import type { State } from './state.ts';
import { appendRun, dropRuns, trimRuns, truncateRuns } from './stream-runs.ts';

/** Changes `state` by one event. Events of one moment share `state.now`, which `advanceTime` has set. */
export function apply(state: State, event: StateEvent): void {
  switch (event.type) {
    case 'streamCreated':
      return createStream(state, event.streamId, event.name, event.config);
    case 'streamConfigured':
      state.stream(event.streamId).config = event.config;
      return;
    case 'streamDeleted':
      return deleteStream(state, event.streamId);
    case 'objectsReserved':
      return reserveObjects(state, event);
    case 'objectCommitted':
      return commitObject(state, event);
    case 'objectsAbandoned':
      return abandonObjects(state, event.objectNumbers);
    case 'laneAdvanced':
      return advanceLane(state, event.wal);
    case 'streamTrimmed':
      return trimRuns(state, state.stream(event.streamId), event.firstOffset);
    case 'streamTruncated':
      return truncateStream(state, event.streamId, event.nextOffset, event.epoch);
    case 'jobClaimed':
      return claimJob(state, event);
    case 'jobRenewed':
      state.job(event.jobId).leaseUntil = event.leaseUntil;
      return;
    case 'jobEnded':
      return endJob(state, event.jobId);
    case 'jobCommitted':
      return applyJobCommitted(state, event);
    case 'objectsGone':
      return forgetBytes(state, event.objectNumbers);
    case 'tombstonesForgotten':
      return forgetTombstones(state, event);
    default:
      return assertNever(event);
  }
}

/** Sets the time of the events that follow. */
export function advanceTime(state: State, now: number): void {
  assert(now >= state.now, "the coordinator's time never goes back");
  state.now = now;
}

type StreamConfig = Parameters<typeof newStreamRow>[2];

function createStream(state: State, streamId: number, name: string, config: StreamConfig): void {
  assert(streamId === state.nextStreamId, 'stream ids count up');
  assert(!state.streamsByName.has(name), 'a name belongs to one stream');
  const stream = newStreamRow(streamId, name, config);
  state.streams.set(streamId, stream);
  state.streamsByName.set(name, stream);
  state.nextStreamId = streamId + 1;
}

function deleteStream(state: State, streamId: number): void {
  const stream = state.stream(streamId);
  dropRuns(state, stream);
  state.streams.delete(streamId);
  state.streamsByName.delete(stream.name);
}

function reserveObjects(state: State, event: ObjectsReserved): void {
  assert(event.firstNumber === state.nextObjectNumber, 'object numbers count up');
  for (let index = 0; index < event.count; index += 1) {
    const object = newObjectRow(event.firstNumber + index, event.nonce, event.deadline);
    state.objects.set(object.number, object);
    state.byState.reserved.add(object);
  }
  state.nextObjectNumber = event.firstNumber + event.count;
}

function commitObject(state: State, event: ObjectCommitted): void {
  const object = state.object(event.objectNumber);
  markCommitted(state, object, event);
  for (const truncation of event.truncations) {
    truncateStream(state, truncation.streamId, truncation.nextOffset, truncation.epoch);
  }
  let asAsked = !event.relative;
  const answer: number[] = [];
  for (const run of event.runs) {
    const stream = state.streams.get(run.streamId);
    if (stream === undefined) {
      assert(run.streamId < state.nextStreamId, 'a run of an unknown stream is of a deleted one');
      asAsked = false;
      answer.push(-1);
      continue;
    }
    answer.push(run.firstOffset);
    appendRun(state, stream, addRun(state, object, run, run.nextOffset));
  }
  if (!asAsked) object.answer = answer;
  if (event.wal !== undefined) advanceLane(state, event.wal);
  settleObject(state, object);
}

function abandonObjects(state: State, objectNumbers: readonly number[]): void {
  for (const objectNumber of objectNumbers) {
    const object = state.object(objectNumber);
    assert(object.state === 'reserved', 'only reservations are given up');
    moveObject(state, object, 'deleting', state.now);
  }
}

function advanceLane(state: State, wal: FlushedSlot): void {
  const before = state.lanes.get(wal.lane);
  assert(before === undefined || before.slotSequence < wal.slotSequence, 'slots of a lane are flushed in order');
  state.lanes.set(wal.lane, wal);
}

function truncateStream(state: State, streamId: number, nextOffset: number, epoch: number): void {
  const stream = state.stream(streamId);
  assert(epoch > stream.epoch, 'a truncation raises the epoch');
  truncateRuns(state, stream, nextOffset);
  stream.epoch = epoch;
}

function claimJob(state: State, event: JobClaimed): void {
  assert(event.jobId === state.nextJobId, 'job ids count up');
  for (const objectNumber of event.inputs) {
    const object = state.object(objectNumber);
    assert(object.state === 'committed' && object.jobId === undefined, 'an object is an input of one live job');
    object.jobId = event.jobId;
  }
  const { jobId, token, kind, worker, leaseUntil, inputs } = event;
  state.jobs.set(jobId, { jobId, token, kind, worker, claimedAt: state.now, leaseUntil, inputs });
  state.nextJobId = jobId + 1;
}

function forgetBytes(state: State, objectNumbers: readonly number[]): void {
  for (const objectNumber of objectNumbers) {
    const object = state.object(objectNumber);
    assert(object.state === 'deleting', 'only deleting objects go');
    moveObject(state, object, 'gone', state.now);
  }
}

function forgetTombstones(state: State, event: TombstonesForgotten): void {
  for (const objectNumber of event.objectNumbers) {
    const object = state.object(objectNumber);
    assert(object.state === 'gone', 'only gone objects are forgotten');
    countObject(state, object, -1);
    state.byState.gone.delete(object);
    state.objects.delete(objectNumber);
  }
  for (const jobId of event.jobIds) state.finishedJobs.delete(jobId);
}
