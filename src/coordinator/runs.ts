/** Runs as they go into the coordinator and come out of it. */
import type { RunCoordinate, SegmentRun } from '../record/run.ts';

/** A run as a writer commits it. Its identity in the store is its object's key and its `byteOffset`. */
export interface CommitRun extends SegmentRun {
  /** The run begins with a tracking snapshot: no older tracking of its stream is needed. Default false. */
  readonly trackingSnapshot?: boolean;
}

/** A run as the coordinator serves it. */
export interface FoundRun extends RunCoordinate {
  /** Readers stop here: below `nextOffset` when a truncation cut the run, else equal to it. */
  readonly endOffset: number;
  readonly trackingSnapshot: boolean;
}

/** Names one run of the whole store. */
export interface RunReference {
  readonly objectKey: string;
  readonly byteOffset: number;
}
