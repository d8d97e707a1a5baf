/**
 * What happened, as the manifest log keeps it. An event names results, never intentions: applying it needs no clock, no
 * randomness and no judgement, and two readers that apply the same events hold the same state.
 */
import type { CommitRun, FlushedSlot, PublisherMark, Truncation } from '../coordinator.ts';
import type { JobKind } from '../job.ts';
import type { StreamConfig } from '../../record/stream-config.ts';

/** A run by the number of its object and its place in it. */
export interface RunKey {
  readonly objectNumber: number;
  readonly byteOffset: number;
}

export interface StreamCreated {
  readonly type: 'streamCreated';
  readonly streamId: number;
  readonly name: string;
  readonly config: StreamConfig;
}

export interface StreamConfigured {
  readonly type: 'streamConfigured';
  readonly streamId: number;
  readonly config: StreamConfig;
}

export interface StreamDeleted {
  readonly type: 'streamDeleted';
  readonly streamId: number;
}

/** `count` objects numbered from `firstNumber`; they share one nonce. */
export interface ObjectsReserved {
  readonly type: 'objectsReserved';
  readonly firstNumber: number;
  readonly count: number;
  readonly nonce: number;
  readonly deadline: number;
}

export interface ObjectCommitted {
  readonly type: 'objectCommitted';
  readonly objectNumber: number;
  readonly bytes: number;
  readonly checksum: string;
  readonly generation: number;
  /** The offsets were assigned here: the answer is worth keeping. */
  readonly relative: boolean;
  readonly truncations: readonly Truncation[];
  /** With their final offsets. Runs of streams that no longer exist add dead bytes and are listed all the same. */
  readonly runs: readonly CommitRun[];
  /** Indexes of those runs that add dead bytes because a publisher of theirs had moved on. */
  readonly refused: readonly number[];
  readonly wal: FlushedSlot | undefined;
}

export interface ConsumerOffset {
  readonly reference: string;
  readonly offset: number;
}

/** Consumers came to these offsets, or were forgotten. */
export interface OffsetsStored {
  readonly type: 'offsetsStored';
  readonly streamId: number;
  readonly stored: readonly ConsumerOffset[];
  readonly removed: readonly string[];
}

export interface MarkedPublisher extends PublisherMark {
  readonly reference: string;
}

/** Publishers' records were committed; others were forgotten to make room. */
export interface PublishersMarked {
  readonly type: 'publishersMarked';
  readonly streamId: number;
  readonly marks: readonly MarkedPublisher[];
  readonly forgotten: readonly string[];
}

/** Reservations given up or expired: their objects are to be deleted. */
export interface ObjectsAbandoned {
  readonly type: 'objectsAbandoned';
  readonly objectNumbers: readonly number[];
}

export interface LaneAdvanced {
  readonly type: 'laneAdvanced';
  readonly wal: FlushedSlot;
}

export interface StreamTrimmed {
  readonly type: 'streamTrimmed';
  readonly streamId: number;
  readonly firstOffset: number;
}

export interface StreamTruncated extends Truncation {
  readonly type: 'streamTruncated';
}

export interface JobClaimed {
  readonly type: 'jobClaimed';
  readonly jobId: number;
  readonly token: string;
  readonly kind: JobKind;
  readonly worker: string;
  readonly leaseUntil: number;
  readonly inputs: readonly number[];
}

export interface JobRenewed {
  readonly type: 'jobRenewed';
  readonly jobId: number;
  readonly leaseUntil: number;
}

/** Released or expired: its inputs are free again. */
export interface JobEnded {
  readonly type: 'jobEnded';
  readonly jobId: number;
}

/** A run of a job's output. */
export interface ReplacingRun extends CommitRun {
  /** Those of its parents that were live, in stream order. Without any, its bytes are dead. */
  readonly parents: readonly RunKey[];
}

export interface ReplacingObject {
  readonly objectNumber: number;
  readonly bytes: number;
  readonly checksum: string;
  readonly generation: number;
  readonly runs: readonly ReplacingRun[];
}

export interface JobCommitted {
  readonly type: 'jobCommitted';
  readonly jobId: number;
  readonly outputs: readonly ReplacingObject[];
  /** Live input runs that nothing replaces. */
  readonly dropped: readonly RunKey[];
}

export interface ObjectsGone {
  readonly type: 'objectsGone';
  readonly objectNumbers: readonly number[];
}

export interface TombstonesForgotten {
  readonly type: 'tombstonesForgotten';
  readonly objectNumbers: readonly number[];
  readonly jobIds: readonly number[];
}

export type StateEvent =
  | StreamCreated
  | StreamConfigured
  | StreamDeleted
  | ObjectsReserved
  | ObjectCommitted
  | OffsetsStored
  | PublishersMarked
  | ObjectsAbandoned
  | LaneAdvanced
  | StreamTrimmed
  | StreamTruncated
  | JobClaimed
  | JobRenewed
  | JobEnded
  | JobCommitted
  | ObjectsGone
  | TombstonesForgotten;
