/** Runs as they go into the coordinator and come out of it. */
import type { RunCoordinate, SegmentRun } from '../record/run.ts';

/** A run as a writer commits it. Its identity in the store is its object's key and its `byteOffset`. */
export interface CommitRun extends SegmentRun {
  /** The run begins with a tracking snapshot: no older tracking of its stream is needed. Default false. */
  readonly trackingSnapshot?: boolean;
  /**
   * Publishers whose records the run holds, each once. The run is refused when one of them has published meanwhile
   * through somebody else.
   */
  readonly publishers?: readonly PublisherClaim[];
}

/** A publisher's latest record. */
export interface PublisherMark {
  readonly publishingId: number;
  readonly offset: number;
}

/** Moves a publisher's mark from the id that the writer knows of to that of its latest record in a run. */
export interface PublisherClaim extends PublisherMark {
  readonly reference: string;
  /** The publisher's last id before this run; `undefined`: it had none. */
  readonly previousId: number | undefined;
}

/** A run as the coordinator keeps it. */
export interface KeptRun extends SegmentRun {
  /** It begins with a tracking snapshot: no older tracking of its stream is needed. */
  readonly trackingSnapshot: boolean;
}

/** A run as the coordinator serves it. */
export interface FoundRun extends KeptRun, RunCoordinate {
  /** Readers stop here: below `nextOffset` when a truncation cut the run, else equal to it. */
  readonly endOffset: number;
}

/** Names one run of the whole store. */
export interface RunReference {
  readonly objectKey: string;
  readonly byteOffset: number;
}
