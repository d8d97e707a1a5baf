/** Builds a state from the rows of a snapshot. Whatever does not fit together is a `PayloadError`. */
import { countObject } from '../state/object-changes.ts';
import { newObjectRow, newStreamRow, type ObjectRow, type StreamRow } from '../state/rows.ts';
import { addRun, countTracking, countVisible, isBelow } from '../state/run-links.ts';
import { RUN } from '../state/run-table.ts';
import { State } from '../state/state.ts';
import { PayloadError } from './byte-reader.ts';
import type {
  HeadRow,
  JobSnapshotRow,
  ObjectSnapshotRow,
  PublisherSnapshotRow,
  RunSnapshotRow,
  SnapshotRow,
  StreamSnapshotRow,
} from './snapshot-rows.ts';

export class StateLoader {
  readonly #state: State = new State();
  readonly #deleting: ObjectRow[] = [];
  readonly #gone: ObjectRow[] = [];
  #stream: StreamRow | undefined;
  #rows = 0;
  #ended = false;

  add(row: SnapshotRow): void {
    if (this.#ended) throw new PayloadError('a row follows the end of the snapshot');
    if ((this.#rows === 0) !== (row.type === 'head')) throw new PayloadError('the head row comes first, and once');
    switch (row.type) {
      case 'head':
        this.#addHead(row);
        break;
      case 'lane': {
        const { lane, slotSequence, blockSequence } = row;
        this.#state.lanes.set(lane, { lane, slotSequence, blockSequence });
        break;
      }
      case 'object':
        this.#addObject(row);
        break;
      case 'stream':
        this.#addStream(row);
        break;
      case 'run':
        this.#addRun(row);
        break;
      case 'consumer':
        this.#lastStream().consumers.set(row.reference, row.offset);
        break;
      case 'publisher':
        this.#addPublisher(row);
        break;
      case 'job':
        this.#addJob(row);
        break;
      case 'finishedJob': {
        const { jobId, token, finishedAt } = row;
        this.#state.finishedJobs.set(jobId, { jobId, token, finishedAt });
        break;
      }
      case 'end':
        if (row.rows !== this.#rows) throw new PayloadError(`${this.#rows} rows instead of ${row.rows}`);
        this.#ended = true;
        break;
    }
    this.#rows += 1;
  }

  /** The state, once the end row was added. */
  finish(): State {
    if (!this.#ended) throw new PayloadError('the snapshot has no end');
    this.#checkWatermark();
    const state = this.#state;
    for (const objects of [this.#deleting, this.#gone]) {
      objects.sort((left, right) => left.stateAt - right.stateAt || left.number - right.number);
      for (const object of objects) state.byState[object.state].add(object);
    }
    for (const object of state.byState.committed) {
      if (object.liveRuns === 0) throw new PayloadError(`object ${object.number} is committed and holds no run`);
    }
    return state;
  }

  #addHead(row: HeadRow): void {
    const state = this.#state;
    state.now = Math.max(state.now, row.now);
    state.nextStreamId = row.nextStreamId;
    state.nextObjectNumber = row.nextObjectNumber;
    state.nextJobId = row.nextJobId;
  }

  #addObject(row: ObjectSnapshotRow): void {
    const state = this.#state;
    if (row.number >= state.nextObjectNumber || state.objects.has(row.number)) {
      throw new PayloadError(`object ${row.number} was not made yet, or twice`);
    }
    const { type: _type, ...facts } = row;
    const object: ObjectRow = Object.assign(newObjectRow(row.number, row.nonce, 0), facts);
    state.objects.set(object.number, object);
    if (object.state === 'deleting') this.#deleting.push(object);
    else if (object.state === 'gone') this.#gone.push(object);
    else state.byState[object.state].add(object);
    countObject(state, object, 1);
  }

  #addStream(row: StreamSnapshotRow): void {
    this.#checkWatermark();
    const state = this.#state;
    if (row.streamId >= state.nextStreamId || state.streams.has(row.streamId) || state.streamsByName.has(row.name)) {
      throw new PayloadError(`stream ${row.streamId} was not made yet, or twice`);
    }
    const stream = newStreamRow(row.streamId, row.name, row.config);
    stream.firstOffset = row.firstOffset;
    stream.nextOffset = row.nextOffset;
    stream.epoch = row.epoch;
    state.streams.set(stream.streamId, stream);
    state.streamsByName.set(stream.name, stream);
    this.#stream = stream;
  }

  #addRun({ objectNumber, endOffset, run }: RunSnapshotRow): void {
    const state = this.#state;
    const stream = this.#stream;
    const object = state.objects.get(objectNumber);
    if (stream?.streamId !== run.streamId || object?.state !== 'committed') {
      throw new PayloadError(`a run of stream ${run.streamId} in object ${objectNumber} is out of place`);
    }
    const { length } = stream.runs;
    const before = length === 0 ? undefined : state.runs.get(stream.runs.at(length - 1), RUN.endOffset);
    if (endOffset < run.firstOffset || (before !== undefined && run.firstOffset !== before)) {
      throw new PayloadError(`a run of stream ${run.streamId} at offset ${run.firstOffset} leaves a gap`);
    }
    const row = addRun(state, object, run, endOffset);
    stream.runs.push(row);
    countTracking(state, stream, row, 1);
    if (!isBelow(state, row, stream.firstOffset)) {
      countVisible(state, stream, row, 1);
      return;
    }
    stream.heldRuns += 1;
    stream.heldBytes += run.byteLength;
  }

  #addPublisher({ reference, publishingId, offset }: PublisherSnapshotRow): void {
    const stream = this.#lastStream();
    if (stream.publishers.has(reference)) throw new PayloadError(`publisher ${reference} is listed twice`);
    stream.publishers.set(reference, { publishingId, offset });
    stream.publisherCount += 1;
  }

  #lastStream(): StreamRow {
    if (this.#stream === undefined) throw new PayloadError('a consumer or publisher comes before any stream');
    return this.#stream;
  }

  /** The runs of the stream that ends here reach its high watermark. */
  #checkWatermark(): void {
    if (this.#stream === undefined) return;
    const { runs, firstOffset, nextOffset, streamId } = this.#stream;
    const end = runs.length === 0 ? firstOffset : this.#state.runs.get(runs.at(runs.length - 1), RUN.endOffset);
    if (end !== nextOffset) throw new PayloadError(`runs of stream ${streamId} end at ${end}, not at ${nextOffset}`);
  }

  #addJob(row: JobSnapshotRow): void {
    const { type: _type, ...job } = row;
    this.#state.jobs.set(job.jobId, job);
    for (const number of job.inputs) {
      const object = this.#state.objects.get(number);
      // Forgotten already when all of it died during the job.
      if (object === undefined) continue;
      if (object.jobId !== undefined) throw new PayloadError(`object ${number} is an input of two jobs`);
      object.jobId = job.jobId;
    }
  }
}
