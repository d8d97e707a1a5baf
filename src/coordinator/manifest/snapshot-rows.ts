/** Rows of a snapshot: the whole state, in an order in which each row finds what it refers to. */
import type { CommitRun, FlushedSlot, ObjectState, PublisherMark } from '../coordinator.ts';
import { JOB_KINDS } from '../job.ts';
import { ANSWER_REFUSED, type FinishedJob, type JobRow, type ObjectRow, type StreamRow } from '../state/rows.ts';
import { checksum, choice, fields, list, optional, signed, unsigned, variants, type Codec } from './codec.ts';
import { commitRun, flushedSlot, label, nonce, ordinal, reference, streamConfig, streamName } from './shared-codecs.ts';

/** Comes first. */
export interface HeadRow {
  readonly type: 'head';
  readonly now: number;
  readonly nextStreamId: number;
  readonly nextObjectNumber: number;
  readonly nextJobId: number;
}

export interface LaneRow extends FlushedSlot {
  readonly type: 'lane';
}

/** What an object is; what lives in it follows from the run rows. By ascending number. */
export type ObjectFacts = Pick<
  ObjectRow,
  | 'number'
  | 'nonce'
  | 'state'
  | 'stateAt'
  | 'committedAt'
  | 'bytes'
  | 'checksum'
  | 'generation'
  | 'firstTimestamp'
  | 'lastTimestamp'
  | 'rewriteBy'
  | 'answer'
>;

export interface ObjectSnapshotRow extends ObjectFacts {
  readonly type: 'object';
}

/** A stream; the rows of its runs follow in offset order, then those of its consumers and publishers. */
export type StreamFacts = Pick<StreamRow, 'streamId' | 'name' | 'config' | 'firstOffset' | 'nextOffset' | 'epoch'>;

export interface StreamSnapshotRow extends StreamFacts {
  readonly type: 'stream';
}

export interface RunSnapshotRow {
  readonly type: 'run';
  readonly objectNumber: number;
  readonly endOffset: number;
  readonly run: CommitRun;
}

export interface ConsumerSnapshotRow {
  readonly type: 'consumer';
  readonly reference: string;
  readonly offset: number;
}

export interface PublisherSnapshotRow extends PublisherMark {
  readonly type: 'publisher';
  readonly reference: string;
}

export interface JobSnapshotRow extends JobRow {
  readonly type: 'job';
}

export interface FinishedJobSnapshotRow extends FinishedJob {
  readonly type: 'finishedJob';
}

/** Comes last, and says how many rows came before. */
export interface EndRow {
  readonly type: 'end';
  readonly rows: number;
}

export type SnapshotRow =
  | HeadRow
  | LaneRow
  | ObjectSnapshotRow
  | StreamSnapshotRow
  | RunSnapshotRow
  | ConsumerSnapshotRow
  | PublisherSnapshotRow
  | JobSnapshotRow
  | FinishedJobSnapshotRow
  | EndRow;

const OBJECT_STATES: readonly ObjectState[] = ['reserved', 'committed', 'deleting', 'gone'];

/** Two more than the offset: runs of deleted streams have -1, refused ones -2. */
const answeredOffset: Codec<number> = {
  write: (writer, value) => writer.unsigned(value - ANSWER_REFUSED),
  read: (reader) => reader.unsigned() + ANSWER_REFUSED,
};

/** A checksum, or nothing for an object that was never committed. */
const optionalChecksum = optional(checksum);
const objectChecksum: Codec<string> = {
  write: (writer, value) => optionalChecksum.write(writer, value === '' ? undefined : value),
  read: (reader) => optionalChecksum.read(reader) ?? '',
};

const runRow: Codec<Omit<RunSnapshotRow, 'type'>> = {
  write: (writer, { objectNumber, endOffset, run }) => {
    writer.unsigned(objectNumber);
    writer.unsigned(run.nextOffset - endOffset);
    commitRun.write(writer, run);
  },
  read: (reader) => {
    const objectNumber = reader.unsigned();
    const cut = reader.unsigned();
    const run = commitRun.read(reader);
    return { objectNumber, endOffset: run.nextOffset - cut, run };
  },
};

export const snapshotRow: Codec<SnapshotRow> = variants<SnapshotRow>({
  head: {
    tag: 1,
    codec: fields({ now: unsigned, nextStreamId: ordinal, nextObjectNumber: ordinal, nextJobId: ordinal }),
  },
  lane: { tag: 2, codec: flushedSlot },
  object: {
    tag: 3,
    codec: fields({
      number: ordinal,
      nonce,
      state: choice(OBJECT_STATES),
      stateAt: unsigned,
      committedAt: unsigned,
      bytes: unsigned,
      checksum: objectChecksum,
      generation: unsigned,
      firstTimestamp: signed,
      lastTimestamp: signed,
      rewriteBy: optional(unsigned),
      answer: optional(list(answeredOffset)),
    }),
  },
  stream: {
    tag: 4,
    codec: fields({
      streamId: unsigned,
      name: streamName,
      config: streamConfig,
      firstOffset: unsigned,
      nextOffset: unsigned,
      epoch: unsigned,
    }),
  },
  run: { tag: 5, codec: runRow },
  job: {
    tag: 6,
    codec: fields({
      jobId: unsigned,
      token: label,
      kind: choice(JOB_KINDS),
      worker: label,
      claimedAt: unsigned,
      leaseUntil: unsigned,
      inputs: list(unsigned),
    }),
  },
  finishedJob: { tag: 7, codec: fields({ jobId: unsigned, token: label, finishedAt: unsigned }) },
  end: { tag: 8, codec: fields({ rows: unsigned }) },
  consumer: { tag: 9, codec: fields({ reference, offset: unsigned }) },
  publisher: { tag: 10, codec: fields({ reference, publishingId: unsigned, offset: unsigned }) },
});
