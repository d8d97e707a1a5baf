/**
 * A run: consecutive chunks of one stream in one segment. The segment's footer and the coordinator both describe runs,
 * so their words live here, below both.
 */

/** What a run holds, counted exactly. The segment summary of a stream is the sum over its runs. */
export interface RunSummary {
  /** Of the stream; never reused. */
  readonly streamId: number;
  /** First offset covered, with or without a record. */
  readonly firstOffset: number;
  /** One past the last offset covered. Equal to `firstOffset` for a run that holds only tracking. */
  readonly nextOffset: number;
  /** User records present. */
  readonly records: number;
  /** Bytes of keys and values. */
  readonly userBytes: number;
  /** Stored bytes of tracking chunks and trailers. */
  readonly trackingBytes: number;
  /** Smallest record timestamp in milliseconds since the epoch; 0 without records. */
  readonly firstTimestamp: number;
  /** Largest record timestamp; 0 without records. */
  readonly lastTimestamp: number;
  /** Highest epoch of its frames. */
  readonly epoch: number;
}

/** Where a run lies in its segment. */
export interface RunPlace {
  /** Position of its first chunk header in the segment. */
  readonly byteOffset: number;
  /** Bytes of its chunks, headers included. */
  readonly byteLength: number;
  /** Chunks in it. */
  readonly chunks: number;
}

/** A run as a segment's footer lists it. */
export interface SegmentRun extends RunSummary, RunPlace {}

/** A run as the coordinator serves it: where to find it, of the whole store. */
export interface RunCoordinate extends SegmentRun {
  /** Key of the object that holds it. */
  readonly objectKey: string;
}
