/** The commit of an object made of appends. */
import { invalid } from '../../errors/argument-checks.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import type { CommitAnswer, CommitRun, ObjectCommit, RunAnswer, Truncation } from '../coordinator.ts';
import { ANSWER_REFUSED, type ObjectRow, type StreamRow } from '../state/rows.ts';
import type { StateEvent } from '../state/event.ts';
import type { State } from '../state/state.ts';
import { checkContent, checkInteger } from './checks.ts';
import { conflict, decide, type Decision } from './decision.ts';
import { checkLane, checkReserved, checkSameContent, copySlot } from './object-commands.ts';
import { PublisherMarks } from './publisher-marks.ts';
import { checkTruncation } from './stream-commands.ts';

const GENERATION_MAX = 2 ** 16 - 1;

export function commitObject(state: State, commit: ObjectCommit): Decision<CommitAnswer> {
  checkContent(commit);
  const { key, bytes, checksum, generation = 0, relative = false, wal } = commit;
  checkInteger(generation, 'a generation', 0, GENERATION_MAX);
  const found = state.findObject(key);
  if (found !== undefined && found.committedAt > 0) return decide(storedAnswer(found, commit));
  const object = checkReserved(state, found, key);
  if (wal !== undefined) checkLane(state, wal);
  const watermarks = new Watermarks(state);
  const truncations = (commit.truncations ?? []).filter((truncation) => watermarks.truncate(truncation));
  const runs: CommitRun[] = [];
  const answers: RunAnswer[] = [];
  const refused: number[] = [];
  for (const asked of commit.runs) {
    const { run, answer } = watermarks.place(asked, relative);
    if (answer.refused === true) refused.push(runs.length);
    runs.push(run);
    answers.push(answer);
  }
  return decide(
    { runs: answers, replayed: false },
    {
      type: 'objectCommitted',
      objectNumber: object.number,
      bytes,
      checksum,
      generation,
      relative,
      truncations,
      runs,
      refused,
      wal: wal === undefined ? undefined : copySlot(wal),
    },
    ...watermarks.publisherEvents(),
  );
}

/** What the first commit under the key answered. */
function storedAnswer(object: ObjectRow, commit: ObjectCommit): CommitAnswer {
  checkSameContent(object, commit);
  const offsets = object.answer ?? commit.runs.map((run) => run.firstOffset);
  if (offsets.length !== commit.runs.length) {
    throw conflict(`object ${commit.key} is committed with ${offsets.length} runs, not ${commit.runs.length}`, {
      key: commit.key,
      expected: offsets.length,
      actual: commit.runs.length,
    });
  }
  const runs = commit.runs.map(({ streamId }, index): RunAnswer => {
    const offset = offsets[index] as number;
    if (offset === ANSWER_REFUSED) return { streamId, firstOffset: undefined, refused: true };
    return { streamId, firstOffset: offset < 0 ? undefined : offset };
  });
  return { runs, replayed: true };
}

interface StreamPlace {
  readonly row: StreamRow;
  /** Of streams that a run names publishers of. */
  publishers: PublisherMarks | undefined;
  next: number;
  epoch: number;
}

/** The run without its claims, `shift` further on. Spelled out: a spread costs 3 us, and a commit has thousands. */
function placedRun(run: CommitRun, shift: number): CommitRun {
  return {
    streamId: run.streamId,
    firstOffset: run.firstOffset + shift,
    nextOffset: run.nextOffset + shift,
    records: run.records,
    userBytes: run.userBytes,
    trackingBytes: run.trackingBytes,
    firstTimestamp: run.firstTimestamp,
    lastTimestamp: run.lastTimestamp,
    epoch: run.epoch,
    byteOffset: run.byteOffset,
    byteLength: run.byteLength,
    chunks: run.chunks,
    trackingSnapshot: run.trackingSnapshot === true,
  };
}

/** Where each stream of a commit stands while its runs are placed one after the other. */
class Watermarks {
  readonly #state: State;
  readonly #streams: Map<number, StreamPlace> = new Map();

  constructor(state: State) {
    this.#state = state;
  }

  /** Returns false when the stream was deleted: there is nothing to truncate. */
  truncate(truncation: Truncation): boolean {
    const stream = this.#find(truncation.streamId);
    if (stream === undefined) return false;
    checkTruncation(stream.row, truncation, stream.next, stream.epoch);
    stream.next = truncation.nextOffset;
    stream.epoch = truncation.epoch;
    return true;
  }

  /** Returns the run with its final offsets. */
  place(asked: CommitRun, relative: boolean): { run: CommitRun; answer: RunAnswer } {
    const { publishers } = asked;
    const run = publishers === undefined ? asked : placedRun(asked, 0);
    const { streamId } = run;
    if (relative && run.firstOffset !== 0) throw invalid(`a relative run counts from 0, not from ${run.firstOffset}`);
    const stream = this.#find(streamId);
    if (stream === undefined) return { run, answer: { streamId, firstOffset: undefined } };
    if (publishers !== undefined && !(stream.publishers ??= new PublisherMarks(stream.row)).accepts(publishers)) {
      return { run, answer: { streamId, firstOffset: undefined, refused: true } };
    }
    const shift = relative ? stream.next : 0;
    const placed = relative ? placedRun(run, shift) : run;
    if (placed.firstOffset !== stream.next) {
      throw conflict(
        `a run of stream ${streamId} starts at offset ${placed.firstOffset}, its high watermark is ${stream.next}`,
        { streamId, expected: stream.next, actual: placed.firstOffset },
      );
    }
    if (run.epoch < stream.epoch) {
      throw conflict(`stream ${streamId} is at epoch ${stream.epoch}, a run of epoch ${run.epoch} comes too late`, {
        streamId,
        expected: stream.epoch,
        actual: run.epoch,
      });
    }
    checkInteger(placed.nextOffset, 'the next offset of a run');
    stream.next = placed.nextOffset;
    stream.epoch = run.epoch;
    if (publishers !== undefined) stream.publishers?.move(publishers, shift, placed);
    return { run: placed, answer: { streamId, firstOffset: placed.firstOffset } };
  }

  /** What the runs placed so far change about publishers. */
  publisherEvents(): StateEvent[] {
    const events: StateEvent[] = [];
    for (const { publishers } of this.#streams.values())
      if (publishers !== undefined) events.push(...publishers.events());
    return events;
  }

  /** `undefined` for a deleted stream. */
  #find(streamId: number): StreamPlace | undefined {
    const known = this.#streams.get(streamId);
    if (known !== undefined) return known;
    const row = this.#state.streams.get(streamId);
    if (row === undefined) {
      // Ids are never reused: one that was handed out and is no longer there belonged to a deleted stream.
      if (Number.isSafeInteger(streamId) && streamId > 0 && streamId < this.#state.nextStreamId) return undefined;
      throw new MillraceError('ERR_MILLRACE_STREAM_NOT_FOUND', `stream ${streamId} was never created`, {
        details: { streamId },
      });
    }
    const stream = { row, publishers: undefined, next: row.nextOffset, epoch: row.epoch };
    this.#streams.set(streamId, stream);
    return stream;
  }
}
