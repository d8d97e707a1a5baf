import { MillraceError } from '../../errors/millrace-error.ts';
import { RESERVATION_COUNT_MAX } from '../../limits/limits.ts';
import type { CoordinatorTimes, Expired, FlushedSlot, ObjectCommit, Reservation } from '../coordinator.ts';
import { formatObjectKey } from '../object-key.ts';
import type { StateEvent } from '../state/event.ts';
import type { ObjectRow } from '../state/rows.ts';
import type { State } from '../state/state.ts';
import { checkInteger } from './checks.ts';
import { conflict, decide, type Decision } from './decision.ts';

export function reserveObjects(
  state: State,
  count: number,
  nonce: number,
  times: CoordinatorTimes,
): Decision<Reservation> {
  checkInteger(count, 'the number of keys to reserve', 1, RESERVATION_COUNT_MAX);
  const firstNumber = state.nextObjectNumber;
  const deadline = state.now + times.reservationTtl;
  const keys = Array.from({ length: count }, (_, index) => formatObjectKey(firstNumber + index, nonce));
  return decide({ keys, deadline }, { type: 'objectsReserved', firstNumber, count, nonce, deadline });
}

/** Throws unless the key may still be committed. */
export function checkReserved(state: State, object: ObjectRow | undefined, key: string): ObjectRow {
  if (object === undefined) throw conflict(`object ${key} was not reserved here, or is forgotten by now`, { key });
  if (object.state !== 'reserved' || state.now >= object.stateAt) {
    throw conflict(`the reservation of object ${key} has ended: write it again under a new key`, {
      key,
      reservationEnded: true,
    });
  }
  return object;
}

export function abortObject(state: State, key: string): Decision<boolean> {
  const object = state.findObject(key);
  if (object === undefined) return decide(true);
  if (object.committedAt > 0) return decide(false);
  if (object.state !== 'reserved') return decide(true);
  return decide(true, { type: 'objectsAbandoned', objectNumbers: [object.number] });
}

/** Throws unless the lane is not yet that far. */
export function checkLane(state: State, wal: FlushedSlot): void {
  checkInteger(wal.lane, 'a lane', 0, 2 ** 16 - 1);
  checkInteger(wal.slotSequence, 'a slot sequence');
  checkInteger(wal.blockSequence, 'a block sequence');
  const flushed = state.lanes.get(wal.lane);
  if (flushed !== undefined && wal.slotSequence <= flushed.slotSequence) {
    throw conflict(
      `lane ${wal.lane} is flushed up to slot sequence ${flushed.slotSequence}, ${wal.slotSequence} comes too late`,
      { lane: wal.lane, expected: flushed.slotSequence + 1, actual: wal.slotSequence },
    );
  }
}

export function advanceFlushed(state: State, wal: FlushedSlot): Decision<void> {
  const flushed = state.lanes.get(wal.lane);
  const same = flushed?.slotSequence === wal.slotSequence && flushed.blockSequence === wal.blockSequence;
  if (same) return decide(undefined);
  checkLane(state, wal);
  return decide(undefined, { type: 'laneAdvanced', wal: copySlot(wal) });
}

export function copySlot({ lane, slotSequence, blockSequence }: FlushedSlot): FlushedSlot {
  return { lane, slotSequence, blockSequence };
}

export function confirmDeleted(state: State, keys: readonly string[]): Decision<number> {
  const objectNumbers = new Set<number>();
  for (const key of keys) {
    const object = state.findObject(key);
    if (object?.state === 'deleting') objectNumbers.add(object.number);
  }
  if (objectNumbers.size === 0) return decide(0);
  return decide(objectNumbers.size, { type: 'objectsGone', objectNumbers: [...objectNumbers] });
}

export function expire(state: State, times: CoordinatorTimes): Decision<Expired> {
  const events: StateEvent[] = [];
  const reservations: number[] = [];
  for (const object of state.byState.reserved) {
    if (object.stateAt <= state.now) reservations.push(object.number);
  }
  if (reservations.length > 0) events.push({ type: 'objectsAbandoned', objectNumbers: reservations });
  let jobs = 0;
  for (const job of state.jobs.values()) {
    if (job.leaseUntil > state.now) continue;
    events.push({ type: 'jobEnded', jobId: job.jobId });
    jobs += 1;
  }
  const forgotten = oldTombstones(state, times);
  const tombstones = forgotten.objectNumbers.length + forgotten.jobIds.length;
  if (tombstones > 0) events.push({ type: 'tombstonesForgotten', ...forgotten });
  return decide({ reservations: reservations.length, jobs, tombstones }, ...events);
}

function oldTombstones(state: State, times: CoordinatorTimes): { objectNumbers: number[]; jobIds: number[] } {
  const objectNumbers: number[] = [];
  for (const object of state.byState.gone) {
    if (state.now - object.stateAt < times.tombstoneRetention) break;
    objectNumbers.push(object.number);
  }
  const jobIds: number[] = [];
  for (const job of state.finishedJobs.values()) {
    if (state.now - job.finishedAt < times.tombstoneRetention) break;
    jobIds.push(job.jobId);
  }
  return { objectNumbers, jobIds };
}

/** The key belongs to another content: a bug of the caller, or two writers with one key. */
export function checkSameContent(object: ObjectRow, commit: ObjectCommit): void {
  if (object.bytes === commit.bytes && object.checksum === commit.checksum) return;
  throw new MillraceError('ERR_MILLRACE_CONFLICT', `object ${commit.key} is committed with another content`, {
    details: { key: commit.key, expected: object.checksum, actual: commit.checksum },
  });
}
