/**
 * The part of the coordinator's state that one operation looks at, loaded from the tables. The same commands judge it,
 * and the same events change it, as in the embedded coordinator: what a change means is written down once.
 *
 * A stream's list holds the runs that a command can meet and leaves out others, so that its indexes are not those of
 * the whole stream, while its order, its ends and its sums are.
 */
import { required } from '../../base/assert.ts';
import { RUN } from '../state/run-table.ts';
import { addRun } from '../state/run-links.ts';
import { newObjectRow, type ObjectRow } from '../state/rows.ts';
import { State } from '../state/state.ts';
import {
  keptRunOf,
  objectRowOf,
  streamRowOf,
  type ObjectRecord,
  type RunRecord,
  type StreamRecord,
} from './records.ts';
import { placeRuns } from './positions.ts';

/** Names a run of the whole store. */
export function runKey(objectNumber: number, byteOffset: number): string {
  return `${objectNumber}:${byteOffset}`;
}

export class Excerpt {
  readonly state: State = new State();
  /** What this transaction has locked, and so may change. */
  readonly lockedStreams: Set<number> = new Set();
  readonly lockedObjects: Set<number> = new Set();
  /** Of each stream, the positions of its loaded runs by key. */
  readonly positions: Map<number, Map<string, number>> = new Map();
  readonly nextPositions: Map<number, number> = new Map();
  /** Held runs of streams whose held runs are not loaded. */
  readonly heldElsewhere: Map<number, number> = new Map();
  readonly #runs: Map<string, RunRecord> = new Map();
  /** Streams whose lists are loaded. */
  readonly #listed: Set<number> = new Set();

  addStream(record: StreamRecord): void {
    const stream = streamRowOf(record);
    this.heldElsewhere.set(stream.streamId, stream.heldRuns);
    stream.heldRuns = 0;
    this.state.streams.set(stream.streamId, stream);
    this.state.streamsByName.set(stream.name, stream);
    this.nextPositions.set(stream.streamId, record.next_position);
  }

  addObject(record: ObjectRecord): void {
    this.#putObject(objectRowOf(record));
  }

  #putObject(object: ObjectRow): void {
    this.state.objects.set(object.number, object);
    this.state.byState[object.state].add(object);
  }

  /** Runs that are looked at as parts of their objects. */
  addRuns(records: readonly RunRecord[]): void {
    for (const record of records) this.#runs.set(runKey(record.object_number, record.byte_offset), record);
  }

  /** Runs of one stream by position, all held ones among them. */
  addList(streamId: number, records: readonly RunRecord[]): void {
    this.addRuns(records);
    this.#listed.add(streamId);
    const stream = this.state.stream(streamId);
    stream.heldRuns = this.heldElsewhere.get(streamId) ?? 0;
    this.heldElsewhere.set(streamId, 0);
  }

  /** Objects of the runs added so far. */
  objectNumbers(wanted: (record: RunRecord) => boolean = () => true): number[] {
    return [...this.#runs.values()].filter(wanted).map(({ object_number }) => object_number);
  }

  /** Streams of the runs added so far. */
  streamIds(): Set<number> {
    return new Set([...this.#runs.values()].map(({ stream_id }) => stream_id));
  }

  /** Makes rows of the runs, linked to their objects and in their streams' lists. */
  link(): void {
    const rows = new Map<RunRecord, number>();
    for (const record of [...this.#runs.values()].sort(byPlace)) rows.set(record, this.#makeRow(record));
    for (const record of [...rows.keys()].sort((left, right) => left.position - right.position)) {
      if (this.#listed.has(record.stream_id)) {
        this.state.stream(record.stream_id).runs.push(required(rows.get(record), 'every loaded run has a row'));
      }
    }
  }

  #makeRow(record: RunRecord): number {
    const { state } = this;
    const { object_number: number, stream_id: streamId } = record;
    if (!state.objects.has(number)) this.#putObject(unlockedObject(number));
    const object = state.object(number);
    const { liveBytes, liveRuns, liveTrackingBytes } = object;
    const row = addRun(state, object, keptRunOf(record), record.end_offset);
    // The object's own row already counts this run, and those that are not loaded.
    Object.assign(object, { liveBytes, liveRuns, liveTrackingBytes });
    const positions = this.positions.get(streamId) ?? new Map<string, number>();
    positions.set(runKey(number, record.byte_offset), record.position);
    this.positions.set(streamId, positions);
    return row;
  }

  /** Gives the runs that the events made their positions. */
  place(): void {
    for (const stream of this.state.streams.values()) {
      const keys: string[] = [];
      for (let index = 0; index < stream.runs.length; index += 1) {
        const row = stream.runs.at(index);
        keys.push(runKey(this.state.runs.get(row, RUN.objectNumber), this.state.runs.get(row, RUN.byteOffset)));
      }
      const { streamId } = stream;
      const known = this.positions.get(streamId) ?? new Map<string, number>();
      const { positions, next } = placeRuns(keys, known, this.nextPositions.get(streamId) ?? 1);
      for (const [index, key] of keys.entries()) known.set(key, required(positions[index], 'every run has a place'));
      this.positions.set(streamId, known);
      this.nextPositions.set(streamId, next);
    }
  }
}

/** Stands in for an object of which only the number matters: the owner of a run that stays as it is. */
function unlockedObject(number: number): ObjectRow {
  return { ...newObjectRow(number, 0, 0), state: 'committed', bytes: 1, liveBytes: 1, liveRuns: 1 };
}

function byPlace(left: RunRecord, right: RunRecord): number {
  return left.object_number - right.object_number || left.byte_offset - right.byte_offset;
}
