/** Applies events. What can be wrong with an event was judged before it was written: here are asserts only. */
import { assert } from '../../base/assert.ts';
import type { FlushedSlot, Truncation } from '../coordinator.ts';
import { applyJobCommitted } from './apply-job.ts';
import type { StateEvent } from './event.ts';
import { countObject, endJob, markCommitted, moveObject, settleObject } from './object-changes.ts';
import { ANSWER_DELETED, ANSWER_REFUSED, newObjectRow, newStreamRow } from './rows.ts';
import { addRun } from './run-links.ts';
import type { State } from './state.ts';
import { markPublishers, storeOffsets } from './references.ts';
import { appendRun, dropRuns, trimRuns, truncateRuns } from './stream-runs.ts';

type EventOf<Type extends StateEvent['type']> = Extract<StateEvent, { readonly type: Type }>;

const CHANGES: { readonly [Type in StateEvent['type']]: (state: State, event: EventOf<Type>) => void } = {
  streamCreated: createStream,
  streamConfigured: (state, { streamId, config }) => (state.stream(streamId).config = config),
  streamDeleted: deleteStream,
  streamTrimmed: (state, { streamId, firstOffset }) => trimRuns(state, state.stream(streamId), firstOffset),
  streamTruncated: truncateStream,
  objectsReserved: reserveObjects,
  objectCommitted: commitObject,
  offsetsStored: (state, event) => storeOffsets(state.stream(event.streamId), event),
  publishersMarked: (state, event) => markPublishers(state.stream(event.streamId), event),
  objectsAbandoned: abandonObjects,
  objectsGone: forgetBytes,
  laneAdvanced: (state, { wal }) => advanceLane(state, wal),
  jobClaimed: claimJob,
  jobRenewed: (state, { jobId, leaseUntil }) => (state.job(jobId).leaseUntil = leaseUntil),
  jobEnded: (state, { jobId }) => endJob(state, jobId),
  jobCommitted: applyJobCommitted,
  tombstonesForgotten: forgetTombstones,
};

/** Changes `state` by one event. Events of one moment share `state.now`, which `advanceTime` has set. */
export function apply(state: State, event: StateEvent): void {
  const change = CHANGES[event.type] as (state: State, event: StateEvent) => void;
  change(state, event);
}

/** Sets the time of the events that follow. */
export function advanceTime(state: State, now: number): void {
  assert(now >= state.now, "the coordinator's time never goes back");
  state.now = now;
}

function createStream(state: State, { streamId, name, config }: EventOf<'streamCreated'>): void {
  assert(streamId === state.nextStreamId, 'stream ids count up');
  assert(!state.streamsByName.has(name), 'a name belongs to one stream');
  const stream = newStreamRow(streamId, name, config);
  state.streams.set(streamId, stream);
  state.streamsByName.set(name, stream);
  state.nextStreamId = streamId + 1;
}

function deleteStream(state: State, { streamId }: EventOf<'streamDeleted'>): void {
  const stream = state.stream(streamId);
  dropRuns(state, stream);
  state.streams.delete(streamId);
  state.streamsByName.delete(stream.name);
}

function reserveObjects(state: State, event: EventOf<'objectsReserved'>): void {
  assert(event.firstNumber === state.nextObjectNumber, 'object numbers count up');
  for (let index = 0; index < event.count; index += 1) {
    const object = newObjectRow(event.firstNumber + index, event.nonce, event.deadline);
    state.objects.set(object.number, object);
    state.byState.reserved.add(object);
  }
  state.nextObjectNumber = event.firstNumber + event.count;
}

function commitObject(state: State, event: EventOf<'objectCommitted'>): void {
  const object = state.object(event.objectNumber);
  markCommitted(state, object, event);
  for (const truncation of event.truncations) {
    truncateStream(state, truncation);
  }
  let asAsked = !event.relative && event.refused.length === 0;
  const refused = new Set(event.refused);
  const answer: number[] = [];
  for (const [index, run] of event.runs.entries()) {
    const stream = state.streams.get(run.streamId);
    if (stream === undefined) {
      assert(run.streamId < state.nextStreamId, 'a run of an unknown stream is of a deleted one');
      asAsked = false;
      answer.push(ANSWER_DELETED);
      continue;
    }
    if (refused.has(index)) {
      answer.push(ANSWER_REFUSED);
      continue;
    }
    answer.push(run.firstOffset);
    appendRun(state, stream, addRun(state, object, run, run.nextOffset));
  }
  if (!asAsked) object.answer = answer;
  if (event.wal !== undefined) advanceLane(state, event.wal);
  settleObject(state, object);
}

function abandonObjects(state: State, { objectNumbers }: EventOf<'objectsAbandoned'>): void {
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

function truncateStream(state: State, { streamId, nextOffset, epoch }: Truncation): void {
  const stream = state.stream(streamId);
  assert(epoch > stream.epoch, 'a truncation raises the epoch');
  truncateRuns(state, stream, nextOffset);
  stream.epoch = epoch;
}

function claimJob(state: State, event: EventOf<'jobClaimed'>): void {
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

function forgetBytes(state: State, { objectNumbers }: EventOf<'objectsGone'>): void {
  for (const objectNumber of objectNumbers) {
    const object = state.object(objectNumber);
    assert(object.state === 'deleting', 'only deleting objects go');
    moveObject(state, object, 'gone', state.now);
  }
}

function forgetTombstones(state: State, event: EventOf<'tombstonesForgotten'>): void {
  for (const objectNumber of event.objectNumbers) {
    const object = state.object(objectNumber);
    assert(object.state === 'gone', 'only gone objects are forgotten');
    countObject(state, object, -1);
    state.byState.gone.delete(object);
    state.objects.delete(objectNumber);
  }
  for (const jobId of event.jobIds) state.finishedJobs.delete(jobId);
}
