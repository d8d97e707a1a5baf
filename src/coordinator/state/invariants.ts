/** What always holds, checked from the rows up: sums are computed again, lists walked both ways. */
import { PUBLISHERS_MAX, REFERENCES_MAX } from '../../limits/limits.ts';
import type { ObjectState } from '../coordinator.ts';
import type { ObjectRow, StreamRow } from './rows.ts';
import { isBelow, recordsOf } from './run-links.ts';
import { NO_ROW, RUN } from './run-table.ts';
import type { State } from './state.ts';

/** A sentence for each violation. */
export function violations(state: State): string[] {
  const found: string[] = [];
  const inStreams = new Set<number>();
  for (const stream of state.streams.values()) checkStream(state, stream, inStreams, found);
  let inObjects = 0;
  const sums = { committedBytes: 0, liveBytes: 0, deletingBytes: 0 };
  for (const object of state.objects.values()) {
    inObjects += checkObject(state, object, inStreams, found);
    sums.liveBytes += object.liveBytes;
    if (object.state === 'committed') sums.committedBytes += object.bytes;
    if (object.state === 'deleting') sums.deletingBytes += object.bytes;
  }
  if (inStreams.size !== inObjects || state.runs.count !== inObjects) {
    found.push(`${inStreams.size} runs in streams, ${inObjects} in objects, ${state.runs.count} in all`);
  }
  for (const sum of ['committedBytes', 'liveBytes', 'deletingBytes'] as const) {
    if (state[sum] !== sums[sum]) found.push(`${sum} is counted as ${state[sum]} and adds up to ${sums[sum]}`);
  }
  checkStates(state, found);
  checkJobs(state, found);
  return found;
}

/** Live runs tile [log start, high watermark): the first one may begin below the log start, or be held for tracking. */
function checkStream(state: State, stream: StreamRow, inStreams: Set<number>, found: string[]): void {
  const { runs } = state;
  const where = `stream ${stream.streamId}`;
  if (stream.firstOffset > stream.nextOffset) found.push(`${where}: the log start is above the high watermark`);
  if (stream.streamId >= state.nextStreamId) found.push(`${where}: its id was not handed out`);
  if (state.streamsByName.get(stream.name) !== stream) found.push(`${where}: its name leads elsewhere`);
  const sums = { records: 0, userBytes: 0, trackingBytes: 0, storedBytes: 0, heldBytes: 0, heldRuns: 0 };
  const marks = { snapshotRuns: 0, trackingRuns: 0 };
  const objects = new Set<number>();
  let expected: number | undefined;
  for (let index = 0; index < stream.runs.length; index += 1) {
    const row = stream.runs.at(index);
    const first = runs.get(row, RUN.firstOffset);
    const end = runs.get(row, RUN.endOffset);
    if (inStreams.has(row)) found.push(`${where}: the run at ${first} is listed twice`);
    inStreams.add(row);
    if (runs.get(row, RUN.streamId) !== stream.streamId) found.push(`${where}: a run at ${first} is of another stream`);
    if (expected === undefined ? first > stream.firstOffset : first !== expected) {
      found.push(`${where}: a run starts at ${first} instead of ${expected ?? stream.firstOffset}`);
    }
    if (end < first || end > runs.get(row, RUN.nextOffset)) found.push(`${where}: the run at ${first} ends at ${end}`);
    expected = end;
    marks.snapshotRuns += runs.get(row, RUN.snapshot);
    if (runs.get(row, RUN.trackingBytes) > 0) marks.trackingRuns += 1;
    if (isBelow(state, row, stream.firstOffset)) {
      sums.heldRuns += 1;
      sums.heldBytes += runs.get(row, RUN.byteLength);
      if (sums.heldRuns !== index + 1) found.push(`${where}: the run at ${first} is held behind one that is not`);
      continue;
    }
    objects.add(runs.get(row, RUN.objectNumber));
    sums.records += recordsOf(state, row);
    sums.userBytes += runs.get(row, RUN.userBytes);
    sums.trackingBytes += runs.get(row, RUN.trackingBytes);
    sums.storedBytes += runs.get(row, RUN.byteLength);
  }
  const end = expected ?? stream.firstOffset;
  if (end !== stream.nextOffset) found.push(`${where}: runs end at ${end}, the high watermark is ${stream.nextOffset}`);
  compareSums(where, stream, { ...sums, ...marks, publisherCount: stream.publishers.size }, found);
  const segments = stream.objectCounts?.objects ?? objects.size;
  if (segments !== objects.size) found.push(`${where}: segments are counted as ${segments} and are ${objects.size}`);
  checkReferences(stream, found);
}

function checkReferences({ streamId, consumers, publishers }: StreamRow, found: string[]): void {
  const where = `stream ${streamId}`;
  if (consumers.size > REFERENCES_MAX) found.push(`${where}: ${consumers.size} consumers are too many`);
  if (publishers.size > PUBLISHERS_MAX) found.push(`${where}: ${publishers.size} publishers are too many`);
}

function compareSums(
  where: string,
  counted: Readonly<Record<string, unknown>> | StreamRow,
  sums: Readonly<Record<string, number>>,
  found: string[],
): void {
  for (const [name, sum] of Object.entries(sums)) {
    const value = (counted as Readonly<Record<string, unknown>>)[name];
    if (value !== sum) found.push(`${where}: ${name} is counted as ${String(value)} and adds up to ${sum}`);
  }
}

/** Returns the number of its live runs. */
function checkObject(state: State, object: ObjectRow, inStreams: ReadonlySet<number>, found: string[]): number {
  const { runs } = state;
  const where = `object ${object.number}`;
  const sums = { liveRuns: 0, liveBytes: 0, liveTrackingBytes: 0 };
  const places: { from: number; to: number }[] = [];
  let previous = NO_ROW;
  for (let row = object.firstRun; row !== NO_ROW; row = runs.get(row, RUN.nextInObject)) {
    if (!inStreams.has(row)) found.push(`${where}: a run at ${runs.get(row, RUN.byteOffset)} is in no stream`);
    if (runs.get(row, RUN.objectNumber) !== object.number) found.push(`${where}: lists a run of another object`);
    if (runs.get(row, RUN.previousInObject) !== previous) found.push(`${where}: its runs are not linked both ways`);
    const from = runs.get(row, RUN.byteOffset);
    places.push({ from, to: from + runs.get(row, RUN.byteLength) });
    sums.liveRuns += 1;
    sums.liveBytes += runs.get(row, RUN.byteLength);
    sums.liveTrackingBytes += runs.get(row, RUN.trackingBytes);
    previous = row;
  }
  if (object.lastRun !== previous) found.push(`${where}: its last run is not the last one`);
  compareSums(where, { ...object }, sums, found);
  places.sort((left, right) => left.from - right.from);
  for (const [index, place] of places.entries()) {
    if (place.to > object.bytes) found.push(`${where}: a run ends at ${place.to}, beyond its end`);
    if (place.from < (places[index - 1]?.to ?? 0)) found.push(`${where}: two runs overlap at ${place.from}`);
  }
  if ((object.state === 'committed') !== object.liveBytes > 0) {
    found.push(`${where}: is ${object.state} with ${object.liveBytes} live bytes`);
  }
  return sums.liveRuns;
}

/** Each object is in the set of its state, and in no other. */
function checkStates(state: State, found: string[]): void {
  let members = 0;
  for (const [name, objects] of Object.entries(state.byState) as [ObjectState, Set<ObjectRow>][]) {
    let before = 0;
    for (const object of objects) {
      members += 1;
      if (object.state !== name || state.objects.get(object.number) !== object) {
        found.push(`object ${object.number}: is ${object.state} and listed as ${name}`);
      }
      if ((name === 'deleting' || name === 'gone') && object.stateAt < before) {
        found.push(`object ${object.number}: is out of order among the ${name} ones`);
      }
      before = object.stateAt;
    }
  }
  if (members !== state.objects.size)
    found.push(`${members} objects are listed by state, ${state.objects.size} in all`);
}

/** An object is an input of one live job at most, and knows which. */
function checkJobs(state: State, found: string[]): void {
  const holders = new Map<number, number>();
  for (const job of state.jobs.values()) {
    for (const number of job.inputs) {
      if (holders.has(number)) found.push(`object ${number}: is an input of two live jobs`);
      holders.set(number, job.jobId);
    }
  }
  for (const object of state.objects.values()) {
    if (object.jobId === holders.get(object.number)) continue;
    found.push(
      `object ${object.number}: names job ${String(object.jobId)}, is held by ${String(holders.get(object.number))}`,
    );
  }
}
