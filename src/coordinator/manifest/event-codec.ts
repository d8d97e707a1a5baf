/** Events as the log's blocks hold them. Tags are never reused; a new event is a new tag and a new version. */
import { RESERVATION_COUNT_MAX } from '../../limits/limits.ts';
import { JOB_KINDS } from '../job.ts';
import type {
  ConsumerOffset,
  MarkedPublisher,
  ReplacingObject,
  ReplacingRun,
  RunKey,
  StateEvent,
} from '../state/event.ts';
import { between, boolean, checksum, choice, fields, list, optional, unsigned, variants, type Codec } from './codec.ts';
import {
  commitRun,
  flushedSlot,
  label,
  nonce,
  ordinal,
  reference,
  streamConfig,
  streamName,
  truncation,
} from './shared-codecs.ts';

const runKey: Codec<RunKey> = fields<RunKey>({ objectNumber: unsigned, byteOffset: unsigned });
const runKeys = list(runKey);

const consumerOffset: Codec<ConsumerOffset> = fields<ConsumerOffset>({ reference, offset: unsigned });
const markedPublisher: Codec<MarkedPublisher> = fields<MarkedPublisher>({
  reference,
  publishingId: unsigned,
  offset: unsigned,
});

const replacingRun: Codec<ReplacingRun> = {
  write: (writer, run) => {
    commitRun.write(writer, run);
    runKeys.write(writer, run.parents);
  },
  read: (reader) => ({ ...commitRun.read(reader), parents: runKeys.read(reader) }),
};

const replacingObject: Codec<ReplacingObject> = fields<ReplacingObject>({
  objectNumber: unsigned,
  bytes: unsigned,
  checksum,
  generation: unsigned,
  runs: list(replacingRun),
});

export const stateEvent: Codec<StateEvent> = variants<StateEvent>({
  streamCreated: { tag: 1, codec: fields({ streamId: unsigned, name: streamName, config: streamConfig }) },
  streamConfigured: { tag: 2, codec: fields({ streamId: unsigned, config: streamConfig }) },
  streamDeleted: { tag: 3, codec: fields({ streamId: unsigned }) },
  streamTrimmed: { tag: 4, codec: fields({ streamId: unsigned, firstOffset: unsigned }) },
  streamTruncated: { tag: 5, codec: truncation },
  objectsReserved: {
    tag: 6,
    // Each of them becomes a row: the count is a claim like any length.
    codec: fields({ firstNumber: ordinal, count: between(1, RESERVATION_COUNT_MAX), nonce, deadline: unsigned }),
  },
  objectCommitted: {
    tag: 7,
    codec: fields({
      objectNumber: unsigned,
      bytes: unsigned,
      checksum,
      generation: unsigned,
      relative: boolean,
      truncations: list(truncation),
      runs: list(commitRun),
      refused: list(unsigned),
      wal: optional(flushedSlot),
    }),
  },
  objectsAbandoned: { tag: 8, codec: fields({ objectNumbers: list(unsigned) }) },
  objectsGone: { tag: 9, codec: fields({ objectNumbers: list(unsigned) }) },
  laneAdvanced: { tag: 10, codec: fields({ wal: flushedSlot }) },
  jobClaimed: {
    tag: 11,
    codec: fields({
      jobId: unsigned,
      token: label,
      kind: choice(JOB_KINDS),
      worker: label,
      leaseUntil: unsigned,
      inputs: list(unsigned),
    }),
  },
  jobRenewed: { tag: 12, codec: fields({ jobId: unsigned, leaseUntil: unsigned }) },
  jobEnded: { tag: 13, codec: fields({ jobId: unsigned }) },
  jobCommitted: { tag: 14, codec: fields({ jobId: unsigned, outputs: list(replacingObject), dropped: runKeys }) },
  tombstonesForgotten: { tag: 15, codec: fields({ objectNumbers: list(unsigned), jobIds: list(unsigned) }) },
  offsetsStored: {
    tag: 16,
    codec: fields({ streamId: unsigned, stored: list(consumerOffset), removed: list(reference) }),
  },
  publishersMarked: {
    tag: 17,
    codec: fields({ streamId: unsigned, marks: list(markedPublisher), forgotten: list(reference) }),
  },
});
